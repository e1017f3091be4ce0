variable "region" {
  type        = string
  description = "Region of the build machine and of the AMI."

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]+$", var.region))
    error_message = "The region must match ^[a-z]{2}(-[a-z]+)+-[0-9]+$."
  }
}

variable "profile" {
  type        = string
  description = "Profile of the shared configuration files."

  validation {
    condition     = can(regex("^[^\\s]+$", var.profile))
    error_message = "The profile must match ^[^\\s]+$."
  }
}

variable "instance_type" {
  type        = string
  description = "Type of the build machine."

  validation {
    condition     = can(regex("^[a-z0-9-]+\\.[a-z0-9-]+$", var.instance_type))
    error_message = "The instance_type must match ^[a-z0-9-]+\\.[a-z0-9-]+$."
  }
}

variable "root_volume_size" {
  type        = number
  description = "Size of the system volume in GiB."

  validation {
    condition     = var.root_volume_size >= 30
    error_message = "The root_volume_size must be at least 30."
  }

  validation {
    condition     = var.root_volume_size <= 16384
    error_message = "The root_volume_size must be at most 16384."
  }

  validation {
    condition     = floor(var.root_volume_size) == var.root_volume_size
    error_message = "The root_volume_size must be a whole number."
  }
}

variable "root_volume_type" {
  type        = string
  description = "Type of the system volume."

  validation {
    condition     = contains(["gp2", "gp3", "io1", "io2"], var.root_volume_type)
    error_message = "The root_volume_type must be one of gp2, gp3, io1, io2."
  }
}

variable "metadata_hop_limit" {
  type        = number
  description = "How many hops an answer of the metadata service may travel."

  validation {
    condition     = var.metadata_hop_limit >= 1
    error_message = "The metadata_hop_limit must be at least 1."
  }

  validation {
    condition     = var.metadata_hop_limit <= 64
    error_message = "The metadata_hop_limit must be at most 64."
  }

  validation {
    condition     = floor(var.metadata_hop_limit) == var.metadata_hop_limit
    error_message = "The metadata_hop_limit must be a whole number."
  }
}

variable "source_ami_name" {
  type        = string
  description = "Name of Amazon's image without its date."

  validation {
    condition     = can(regex("^[A-Za-z0-9_.-]+$", var.source_ami_name))
    error_message = "The source_ami_name must match ^[A-Za-z0-9_.-]+$."
  }
}

variable "source_ami_date" {
  type        = string
  description = "Date of Amazon's image; `*` stands for the newest, which changes each month."

  validation {
    condition     = can(regex("^(\\*|[0-9]{4}\\.[0-9]{2}\\.[0-9]{2})$", var.source_ami_date))
    error_message = "The source_ami_date must match ^(\\*|[0-9]{4}\\.[0-9]{2}\\.[0-9]{2})$."
  }
}

variable "source_ami_owners" {
  type        = list(string)
  description = "Owners of the source image: `amazon`, or ids of accounts."

  validation {
    condition     = alltrue([for item in var.source_ami_owners : can(regex("^(amazon|[0-9]{12})$", item))])
    error_message = "The source_ami_owners must match ^(amazon|[0-9]{12})$."
  }

  validation {
    condition     = length(var.source_ami_owners) >= 1
    error_message = "The source_ami_owners must have at least 1 item(s)."
  }
}

variable "ami_name" {
  type        = string
  description = "Name of the AMI."

  validation {
    condition     = can(regex("^[A-Za-z0-9()\\[\\] ./'@_-]{3,128}$", var.ami_name))
    error_message = "The ami_name must match ^[A-Za-z0-9()\\[\\] ./'@_-]{3,128}$."
  }
}

variable "aws_tags" {
  type        = map(string)
  description = "Tags for the AMI, its snapshots and everything the build creates, beside those imagegen sets."

  validation {
    condition     = length(var.aws_tags) <= 45
    error_message = "The aws_tags must have at most 45 items."
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
