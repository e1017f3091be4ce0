variable "project_id" {
  type        = string
  description = "Project of the build machine and of the image."

  validation {
    condition     = can(regex("^[a-z][a-z0-9.:-]{4,61}[a-z0-9]$", var.project_id))
    error_message = "The project_id must match ^[a-z][a-z0-9.:-]{4,61}[a-z0-9]$."
  }
}

variable "zone" {
  type        = string
  description = "Zone of the build machine."

  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+-[a-z]$", var.zone))
    error_message = "The zone must match ^[a-z]+-[a-z]+[0-9]+-[a-z]$."
  }
}

variable "machine_type" {
  type        = string
  description = "Type of the build machine."

  validation {
    condition     = can(regex("^[a-z0-9-]+$", var.machine_type))
    error_message = "The machine_type must match ^[a-z0-9-]+$."
  }
}

variable "disk_size" {
  type        = number
  description = "Size of the system disk in GB; Google's Windows images need 50."

  validation {
    condition     = var.disk_size >= 50
    error_message = "The disk_size must be at least 50."
  }

  validation {
    condition     = var.disk_size <= 65536
    error_message = "The disk_size must be at most 65536."
  }

  validation {
    condition     = floor(var.disk_size) == var.disk_size
    error_message = "The disk_size must be a whole number."
  }
}

variable "disk_type" {
  type        = string
  description = "Type of the system disk."

  validation {
    condition     = contains(["pd-standard", "pd-balanced", "pd-ssd", "hyperdisk-balanced"], var.disk_type)
    error_message = "The disk_type must be one of pd-standard, pd-balanced, pd-ssd, hyperdisk-balanced."
  }
}

variable "source_image_family" {
  type        = string
  description = "Family of the source image."

  validation {
    condition     = can(regex("^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$", var.source_image_family))
    error_message = "The source_image_family must match ^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$."
  }
}

variable "source_image_projects" {
  type        = list(string)
  description = "Projects with the source image."

  validation {
    condition     = alltrue([for item in var.source_image_projects : can(regex("^[a-z][a-z0-9.:-]{4,61}[a-z0-9]$", item))])
    error_message = "The source_image_projects must match ^[a-z][a-z0-9.:-]{4,61}[a-z0-9]$."
  }

  validation {
    condition     = length(var.source_image_projects) >= 1
    error_message = "The source_image_projects must have at least 1 item(s)."
  }
}

variable "image_name" {
  type        = string
  description = "Name of the image."

  validation {
    condition     = can(regex("^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$", var.image_name))
    error_message = "The image_name must match ^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$."
  }
}

variable "gcp_labels" {
  type        = map(string)
  description = "Labels for the image and the build machine, beside those imagegen sets."

  validation {
    condition     = length(var.gcp_labels) <= 59
    error_message = "The gcp_labels must have at most 59 items."
  }
}

variable "state_timeout" {
  type        = string
  description = "Timeout of one operation of Compute Engine."

  validation {
    condition     = can(regex("^([0-9]+[hms])+$", var.state_timeout))
    error_message = "The state_timeout must match ^([0-9]+[hms])+$."
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
