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

variable "image_name" {
  type        = string
  description = "Name of the image file, without extension."

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_.-]*$", var.image_name))
    error_message = "The image_name must match ^[A-Za-z0-9][A-Za-z0-9_.-]*$."
  }
}

variable "format" {
  type        = string
  description = "Format of the image file."

  validation {
    condition     = contains(["qcow2", "raw"], var.format)
    error_message = "The format must be one of qcow2, raw."
  }
}

variable "disk_size" {
  type        = string
  description = "Size of the disk."

  validation {
    condition     = can(regex("^[0-9]+[MGT]$", var.disk_size))
    error_message = "The disk_size must match ^[0-9]+[MGT]$."
  }
}

variable "memory" {
  type        = number
  description = "Memory of the build machine in MiB."

  validation {
    condition     = var.memory >= 4096
    error_message = "The memory must be at least 4096."
  }

  validation {
    condition     = floor(var.memory) == var.memory
    error_message = "The memory must be a whole number."
  }
}

variable "cpus" {
  type        = number
  description = "Processors of the build machine."

  validation {
    condition     = var.cpus >= 2
    error_message = "The cpus must be at least 2."
  }

  validation {
    condition     = floor(var.cpus) == var.cpus
    error_message = "The cpus must be a whole number."
  }
}

variable "cpu_model" {
  type        = string
  description = "Processor model; the default offers all instructions of the host."

  validation {
    condition     = can(regex("^[A-Za-z0-9_.,+=-]+$", var.cpu_model))
    error_message = "The cpu_model must match ^[A-Za-z0-9_.,+=-]+$."
  }
}

variable "accelerator" {
  type        = string
  description = "Accelerator; without KVM a build takes many hours."

  validation {
    condition     = contains(["kvm", "hvf", "whpx", "tcg"], var.accelerator)
    error_message = "The accelerator must be one of kvm, hvf, whpx, tcg."
  }
}

variable "headless" {
  type        = bool
  description = "Run without a window; VNC listens on 127.0.0.1 in any case."
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
