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

variable "switch_name" {
  type        = string
  description = "Virtual switch of the build machine; it must lead to this machine."
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
