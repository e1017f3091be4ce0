variable "vcenter_server" {
  type        = string
  description = "Host name of vCenter Server or of an ESXi host."

  validation {
    condition     = can(regex("^[A-Za-z0-9.:-]+$", var.vcenter_server))
    error_message = "The vcenter_server must match ^[A-Za-z0-9.:-]+$."
  }
}

variable "username" {
  type        = string
  description = "User that signs in to vCenter Server."
}

variable "password" {
  type        = string
  description = "Password of that user."
  sensitive   = true
}

variable "cluster" {
  type        = string
  description = "Cluster of the build machine."
}

variable "datastore" {
  type        = string
  description = "Datastore of the image; discs are uploaded to its folder `packer_cache`."
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

variable "vmware_tools_iso" {
  type        = string
  description = "Datastore path of the disc with VMware Tools; the default is the disc of the ESXi host itself."

  validation {
    condition     = can(regex("^\\[[^\\]]*\\] [^\\s].*\\.iso$", var.vmware_tools_iso))
    error_message = "The vmware_tools_iso must match ^\\[[^\\]]*\\] [^\\s].*\\.iso$."
  }
}

variable "guest_os_type" {
  type        = string
  description = "Guest operating system as vSphere calls it."

  validation {
    condition     = can(regex("^[a-zA-Z0-9_]+$", var.guest_os_type))
    error_message = "The guest_os_type must match ^[a-zA-Z0-9_]+$."
  }
}

variable "network" {
  type        = string
  description = "Network of the build machine."
}

variable "network_card" {
  type        = string
  description = "Type of the network adapter."

  validation {
    condition     = contains(["vmxnet3", "e1000e"], var.network_card)
    error_message = "The network_card must be one of vmxnet3, e1000e."
  }
}

variable "disk_controller" {
  type        = string
  description = "Controller of the disk. The driver of `pvscsi` is on the disc with VMware Tools, that of `nvme` in Windows."

  validation {
    condition     = contains(["pvscsi", "nvme", "lsilogic-sas"], var.disk_controller)
    error_message = "The disk_controller must be one of pvscsi, nvme, lsilogic-sas."
  }
}

variable "disk_size" {
  type        = number
  description = "Size of the disk in MiB."

  validation {
    condition     = var.disk_size >= 40960
    error_message = "The disk_size must be at least 40960."
  }

  validation {
    condition     = floor(var.disk_size) == var.disk_size
    error_message = "The disk_size must be a whole number."
  }
}

variable "disk_thin_provisioned" {
  type        = bool
  description = "Allocate the blocks of the disk when they are written."
}

variable "cpus" {
  type        = number
  description = "Processors of the machine."

  validation {
    condition     = var.cpus >= 2
    error_message = "The cpus must be at least 2."
  }

  validation {
    condition     = floor(var.cpus) == var.cpus
    error_message = "The cpus must be a whole number."
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

variable "boot_wait" {
  type        = string
  description = "Time from power-on until keys are pressed for the prompt to boot from disc."

  validation {
    condition     = can(regex("^[0-9]+(ms|s|m)$", var.boot_wait))
    error_message = "The boot_wait must match ^[0-9]+(ms|s|m)$."
  }
}

variable "ip_wait_timeout" {
  type        = string
  description = "How long the guest may take until VMware Tools report its address."

  validation {
    condition     = can(regex("^[0-9]+(s|m|h)$", var.ip_wait_timeout))
    error_message = "The ip_wait_timeout must match ^[0-9]+(s|m|h)$."
  }
}

variable "image_name" {
  type        = string
  description = "Name of the image in vCenter Server."

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_.-]*$", var.image_name))
    error_message = "The image_name must match ^[A-Za-z0-9][A-Za-z0-9_.-]*$."
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
