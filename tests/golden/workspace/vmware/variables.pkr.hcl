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

variable "guest_os_type" {
  type        = string
  description = "Guest operating system as VMware calls it."

  validation {
    condition     = can(regex("^[a-zA-Z0-9-]+$", var.guest_os_type))
    error_message = "The guest_os_type must match ^[a-zA-Z0-9-]+$."
  }
}

variable "network" {
  type        = string
  description = "Network of the build machine: `nat`, `bridged`, `hostonly` or the name of one; it must have DHCP."

  validation {
    condition     = can(regex("^[A-Za-z0-9]+$", var.network))
    error_message = "The network must match ^[A-Za-z0-9]+$."
  }
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

variable "disk_type_id" {
  type        = string
  description = "Kind of the disk: `0` grows in one file, `1` in files of 2 GB, `2` and `3` have their whole size."

  validation {
    condition     = can(regex("^[0-3]$", var.disk_type_id))
    error_message = "The disk_type_id must match ^[0-3]$."
  }
}

variable "headless" {
  type        = bool
  description = "Run without a window."
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
  description = "Name of the machine and its disk."

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
