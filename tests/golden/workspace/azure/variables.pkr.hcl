variable "location" {
  type        = string
  description = "Azure region of the build machine and of the image."

  validation {
    condition     = can(regex("^[a-z0-9]+$", var.location))
    error_message = "The location must match ^[a-z0-9]+$."
  }
}

variable "vm_size" {
  type        = string
  description = "Size of the build machine."

  validation {
    condition     = can(regex("^[A-Za-z0-9_]+$", var.vm_size))
    error_message = "The vm_size must match ^[A-Za-z0-9_]+$."
  }
}

variable "polling_duration_timeout" {
  type        = string
  description = "Timeout of one Azure operation."

  validation {
    condition     = can(regex("^([0-9]+[hms])+$", var.polling_duration_timeout))
    error_message = "The polling_duration_timeout must match ^([0-9]+[hms])+$."
  }
}

variable "image_publisher" {
  type        = string
  description = "Publisher of the Marketplace image."

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]+$", var.image_publisher))
    error_message = "The image_publisher must match ^[A-Za-z0-9._-]+$."
  }
}

variable "image_offer" {
  type        = string
  description = "Offer of the Marketplace image."

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]+$", var.image_offer))
    error_message = "The image_offer must match ^[A-Za-z0-9._-]+$."
  }
}

variable "image_sku" {
  type        = string
  description = "SKU of the Marketplace image."

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]+$", var.image_sku))
    error_message = "The image_sku must match ^[A-Za-z0-9._-]+$."
  }
}

variable "image_version" {
  type        = string
  description = "Version of the Marketplace image; `latest` moves with each month's updates."

  validation {
    condition     = can(regex("^latest$|^[0-9]+\\.[0-9]+\\.[0-9]+$", var.image_version))
    error_message = "The image_version must match ^latest$|^[0-9]+\\.[0-9]+\\.[0-9]+$."
  }
}

variable "managed_image_name" {
  type        = string
  description = "Name of the managed image."

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_.-]{0,78}[A-Za-z0-9_]$|^[A-Za-z0-9]$", var.managed_image_name))
    error_message = "The managed_image_name must match ^[A-Za-z0-9][A-Za-z0-9_.-]{0,78}[A-Za-z0-9_]$|^[A-Za-z0-9]$."
  }
}

variable "managed_image_resource_group_name" {
  type        = string
  description = "Existing resource group for the managed image."

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_.()-]{0,88}[A-Za-z0-9_()]$|^[A-Za-z0-9]$", var.managed_image_resource_group_name))
    error_message = "The managed_image_resource_group_name must match ^[A-Za-z0-9][A-Za-z0-9_.()-]{0,88}[A-Za-z0-9_()]$|^[A-Za-z0-9]$."
  }
}

variable "azure_tags" {
  type        = map(string)
  description = "Tags for the image and everything the build creates, beside those imagegen sets."

  validation {
    condition     = length(var.azure_tags) <= 41
    error_message = "The azure_tags must have at most 41 items."
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
