variable "nutanix_endpoint" {
  type        = string
  description = "Host name of Prism Central."

  validation {
    condition     = can(regex("^[A-Za-z0-9.-]+$", var.nutanix_endpoint))
    error_message = "The nutanix_endpoint must match ^[A-Za-z0-9.-]+$."
  }
}

variable "nutanix_username" {
  type        = string
  description = "User that signs in to Prism Central."
}

variable "nutanix_password" {
  type        = string
  description = "Password of that user."
  sensitive   = true
}

variable "cluster_name" {
  type        = string
  description = "Cluster of the build machine."
}

variable "subnet_name" {
  type        = string
  description = "Subnet of the build machine."
}

variable "windows_iso_url" {
  type        = string
  description = "URL from which Prism Central reads the installation media, and compares its SHA-256."

  validation {
    condition     = can(regex("^https?://[^\\s]+$", var.windows_iso_url))
    error_message = "The windows_iso_url must match ^https?://[^\\s]+$."
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

variable "drivers_iso_url" {
  type        = string
  description = "URL from which Prism Central reads the disc with the drivers of Nutanix or virtio for Windows."

  validation {
    condition     = can(regex("^https?://[^\\s]+$", var.drivers_iso_url))
    error_message = "The drivers_iso_url must match ^https?://[^\\s]+$."
  }
}

variable "drivers_iso_sha256" {
  type        = string
  description = "SHA-256 of the driver disc."

  validation {
    condition     = can(regex("^[0-9a-f]{64}$", var.drivers_iso_sha256))
    error_message = "The drivers_iso_sha256 must match ^[0-9a-f]{64}$."
  }
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

variable "disk_size_gb" {
  type        = number
  description = "Size of the disk in GiB."

  validation {
    condition     = var.disk_size_gb >= 40
    error_message = "The disk_size_gb must be at least 40."
  }

  validation {
    condition     = floor(var.disk_size_gb) == var.disk_size_gb
    error_message = "The disk_size_gb must be a whole number."
  }
}

variable "cpu" {
  type        = number
  description = "Processors of the machine."

  validation {
    condition     = var.cpu >= 2
    error_message = "The cpu must be at least 2."
  }

  validation {
    condition     = floor(var.cpu) == var.cpu
    error_message = "The cpu must be a whole number."
  }
}

variable "memory_mb" {
  type        = number
  description = "Memory of the machine in MiB."

  validation {
    condition     = var.memory_mb >= 4096
    error_message = "The memory_mb must be at least 4096."
  }

  validation {
    condition     = floor(var.memory_mb) == var.memory_mb
    error_message = "The memory_mb must be a whole number."
  }
}

variable "ip_wait_timeout" {
  type        = string
  description = "How long the guest may take until Prism Central knows its address."

  validation {
    condition     = can(regex("^[0-9]+(s|m|h)$", var.ip_wait_timeout))
    error_message = "The ip_wait_timeout must match ^[0-9]+(s|m|h)$."
  }
}

variable "image_name" {
  type        = string
  description = "Name of the image."

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
