variable "proxmox_url" {
  type        = string
  description = "URL of the API of Proxmox VE."

  validation {
    condition     = can(regex("^(https://[^\\s]+|http://(127\\.0\\.0\\.1|localhost|\\[::1\\])(:[0-9]+)?)/api2/json$", var.proxmox_url))
    error_message = "The proxmox_url must match ^(https://[^\\s]+|http://(127\\.0\\.0\\.1|localhost|\\[::1\\])(:[0-9]+)?)/api2/json$."
  }
}

variable "username" {
  type        = string
  description = "User with realm; for a token also its name, as `packer@pve!build`."
}

variable "token" {
  type        = string
  description = "Secret of the API token."
  sensitive   = true
}

variable "node" {
  type        = string
  description = "Node of the cluster on which the build machine runs."
}

variable "task_timeout" {
  type        = string
  description = "How long a task of the API may take; the upload of installation media is one."

  validation {
    condition     = can(regex("^[0-9]+(s|m|h)$", var.task_timeout))
    error_message = "The task_timeout must match ^[0-9]+(s|m|h)$."
  }
}

variable "windows_iso_sha256" {
  type        = string
  description = "SHA-256 of the installation media."

  validation {
    condition     = can(regex("^[0-9a-f]{64}$", var.windows_iso_sha256))
    error_message = "The windows_iso_sha256 must match ^[0-9a-f]{64}$."
  }
}

variable "windows_iso" {
  type        = string
  description = "Path of the installation media; `imagegen build` sets it to the verified file."
}

variable "drivers_iso_sha256" {
  type        = string
  description = "SHA-256 of the driver disc."

  validation {
    condition     = can(regex("^[0-9a-f]{64}$", var.drivers_iso_sha256))
    error_message = "The drivers_iso_sha256 must match ^[0-9a-f]{64}$."
  }
}

variable "drivers_iso" {
  type        = string
  description = "Path of the driver disc; `imagegen build` sets it to the verified file."
}

variable "driver_folder" {
  type        = string
  description = "Folder of the driver disc for the Windows release."

  validation {
    condition     = can(regex("^[0-9A-Za-z]+$", var.driver_folder))
    error_message = "The driver_folder must match ^[0-9A-Za-z]+$."
  }
}

variable "image_index" {
  type        = number
  description = "Index of the edition on the installation media; 1 is Standard without desktop."

  validation {
    condition     = var.image_index >= 1
    error_message = "The image_index must be at least 1."
  }

  validation {
    condition     = floor(var.image_index) == var.image_index
    error_message = "The image_index must be a whole number."
  }
}

variable "iso_storage_pool" {
  type        = string
  description = "Storage for the discs; it must allow the content `iso`."
}

variable "os" {
  type        = string
  description = "Guest operating system as Proxmox VE calls it."

  validation {
    condition     = can(regex("^[a-z0-9]+$", var.os))
    error_message = "The os must match ^[a-z0-9]+$."
  }
}

variable "storage_pool" {
  type        = string
  description = "Storage for the disks."
}

variable "storage_pool_type" {
  type        = string
  description = "Type of that storage; plugin 1.1.1 needs it."

  validation {
    condition     = contains(["lvm", "zfspool", "rbd", "cephfs", "directory", "nfs"], var.storage_pool_type)
    error_message = "The storage_pool_type must be one of lvm, zfspool, rbd, cephfs, directory, nfs."
  }
}

variable "disk_size" {
  type        = string
  description = "Size of the disk."

  validation {
    condition     = can(regex("^[0-9]+[GT]$", var.disk_size))
    error_message = "The disk_size must match ^[0-9]+[GT]$."
  }
}

variable "cpu_type" {
  type        = string
  description = "Processor model."

  validation {
    condition     = can(regex("^[A-Za-z0-9_.+=,-]+$", var.cpu_type))
    error_message = "The cpu_type must match ^[A-Za-z0-9_.+=,-]+$."
  }
}

variable "cores" {
  type        = number
  description = "Processors of the machine."

  validation {
    condition     = var.cores >= 2
    error_message = "The cores must be at least 2."
  }

  validation {
    condition     = floor(var.cores) == var.cores
    error_message = "The cores must be a whole number."
  }
}

variable "memory" {
  type        = number
  description = "Memory of the machine in MiB."

  validation {
    condition     = var.memory >= 4096
    error_message = "The memory must be at least 4096."
  }

  validation {
    condition     = floor(var.memory) == var.memory
    error_message = "The memory must be a whole number."
  }
}

variable "bridge" {
  type        = string
  description = "Bridge of the network adapter."
}

variable "cloud_init_storage_pool" {
  type        = string
  description = "Storage for the cloud-init drive."
}

variable "boot_wait" {
  type        = string
  description = "Time from power-on until keys are pressed for the prompt to boot from disc."

  validation {
    condition     = can(regex("^[0-9]+(ms|s|m)$", var.boot_wait))
    error_message = "The boot_wait must match ^[0-9]+(ms|s|m)$."
  }
}

variable "image_name" {
  type        = string
  description = "Name of the template."

  validation {
    condition     = can(regex("^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$", var.image_name))
    error_message = "The image_name must match ^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$."
  }
}

variable "payload_sha256" {
  type        = string
  description = "SHA-256 of payload.zip, which the guest compares."

  validation {
    condition     = can(regex("^[0-9a-f]{64}$", var.payload_sha256))
    error_message = "The payload_sha256 must match ^[0-9a-f]{64}$."
  }
}

variable "image_tags" {
  type        = map(string)
  description = "What is in the image: Kubernetes, Windows, runtime, the lockfile's digest, and the version of imagegen."
}
