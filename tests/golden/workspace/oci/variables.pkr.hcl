variable "access_cfg_file_account" {
  type        = string
  description = "Profile of the configuration file."

  validation {
    condition     = can(regex("^[^\\s]+$", var.access_cfg_file_account))
    error_message = "The access_cfg_file_account must match ^[^\\s]+$."
  }
}

variable "region" {
  type        = string
  description = "Region of the build machine and of the image."

  validation {
    condition     = can(regex("^[a-z]{2}-[a-z]+-[0-9]$", var.region))
    error_message = "The region must match ^[a-z]{2}-[a-z]+-[0-9]$."
  }
}

variable "availability_domain" {
  type        = string
  description = "Availability domain of the build machine."

  validation {
    condition     = can(regex("^[A-Za-z]+:[A-Za-z0-9-]+$", var.availability_domain))
    error_message = "The availability_domain must match ^[A-Za-z]+:[A-Za-z0-9-]+$."
  }
}

variable "compartment_ocid" {
  type        = string
  description = "Compartment of the build machine."

  validation {
    condition     = can(regex("^ocid1\\.(compartment|tenancy)\\.[a-z0-9]*\\.[a-z0-9-]*\\.[A-Za-z0-9.]+$", var.compartment_ocid))
    error_message = "The compartment_ocid must match ^ocid1\\.(compartment|tenancy)\\.[a-z0-9]*\\.[a-z0-9-]*\\.[A-Za-z0-9.]+$."
  }
}

variable "subnet_ocid" {
  type        = string
  description = "Subnet of the build machine, which must let WinRM over HTTPS (TCP 5986) in."

  validation {
    condition     = can(regex("^ocid1\\.subnet\\.[a-z0-9]*\\.[a-z0-9-]*\\.[A-Za-z0-9.]+$", var.subnet_ocid))
    error_message = "The subnet_ocid must match ^ocid1\\.subnet\\.[a-z0-9]*\\.[a-z0-9-]*\\.[A-Za-z0-9.]+$."
  }
}

variable "shape" {
  type        = string
  description = "Shape of the build machine. Windows images start only on the kind of shape that they were built on."

  validation {
    condition     = can(regex("^[A-Za-z0-9.]+$", var.shape))
    error_message = "The shape must match ^[A-Za-z0-9.]+$."
  }
}

variable "ocpus" {
  type        = number
  description = "Processors of a flexible shape."

  validation {
    condition     = var.ocpus >= 1
    error_message = "The ocpus must be at least 1."
  }
}

variable "memory_in_gbs" {
  type        = number
  description = "Memory of a flexible shape."

  validation {
    condition     = var.memory_in_gbs >= 8
    error_message = "The memory_in_gbs must be at least 8."
  }
}

variable "base_image_version" {
  type        = string
  description = "Version of the platform image's operating system."

  validation {
    condition     = can(regex("^[A-Za-z0-9 .]+$", var.base_image_version))
    error_message = "The base_image_version must match ^[A-Za-z0-9 .]+$."
  }
}

variable "image_name" {
  type        = string
  description = "Name of the image."

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9 _.-]{0,254}$", var.image_name))
    error_message = "The image_name must match ^[A-Za-z0-9][A-Za-z0-9 _.-]{0,254}$."
  }
}

variable "oci_tags" {
  type        = map(string)
  description = "Free-form tags for the image and the build machine, beside those imagegen sets."

  validation {
    condition     = length(var.oci_tags) <= 6
    error_message = "The oci_tags must have at most 6 items."
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
