variable "cloud" {
  type        = string
  description = "Name of the cloud in `clouds.yaml`."

  validation {
    condition     = can(regex("^[^\\s]+$", var.cloud))
    error_message = "The cloud must match ^[^\\s]+$."
  }
}

variable "flavor" {
  type        = string
  description = "Flavor of the build machine: four processors, 8 GiB of memory and a disk of 60 GB are enough."

  validation {
    condition     = can(regex("^[^\\s]+$", var.flavor))
    error_message = "The flavor must match ^[^\\s]+$."
  }
}

variable "networks" {
  type        = list(string)
  description = "Ids of the networks of the build machine."

  validation {
    condition     = alltrue([for item in var.networks : can(regex("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", item))])
    error_message = "The networks must match ^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$."
  }

  validation {
    condition     = length(var.networks) >= 1
    error_message = "The networks must have at least 1 item(s)."
  }
}

variable "security_groups" {
  type        = list(string)
  description = "Security groups of the build machine, which must let WinRM over HTTPS (TCP 5986) in."

  validation {
    condition     = alltrue([for item in var.security_groups : can(regex("^[^\\s]+$", item))])
    error_message = "The security_groups must match ^[^\\s]+$."
  }

  validation {
    condition     = length(var.security_groups) >= 1
    error_message = "The security_groups must have at least 1 item(s)."
  }
}

variable "config_drive" {
  type        = bool
  description = "Give the build machine its metadata on a drive."
}

variable "source_image_name" {
  type        = string
  description = "Name of a Windows image of yours with cloudbase-init, whose account is `Admin`."
}

variable "image_name" {
  type        = string
  description = "Name of the image."

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9 _.-]{0,254}$", var.image_name))
    error_message = "The image_name must match ^[A-Za-z0-9][A-Za-z0-9 _.-]{0,254}$."
  }
}

variable "image_visibility" {
  type        = string
  description = "Who sees the image."

  validation {
    condition     = contains(["private", "shared", "community", "public"], var.image_visibility)
    error_message = "The image_visibility must be one of private, shared, community, public."
  }
}

variable "os_version" {
  type        = string
  description = "Version of Windows in the image's properties."

  validation {
    condition     = can(regex("^[0-9.]+$", var.os_version))
    error_message = "The os_version must match ^[0-9.]+$."
  }
}

variable "image_properties" {
  type        = map(string)
  description = "Further properties of the image, such as `hw_firmware_type`, `hw_machine_type` and `hw_disk_bus`."
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
