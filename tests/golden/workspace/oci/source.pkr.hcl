locals {
  # An image takes ten tags: the user has those that only tell more of the program.
  image_tags = {
    for name, value in var.image_tags : name => value
    if !contains(["imagegen-commit", "imagegen-date", "imagegen-catalog"], name)
  }
}

source "oracle-oci" "node" {
  # Signing in.
  access_cfg_file_account = var.access_cfg_file_account
  region                  = var.region

  # The build machine.
  availability_domain = var.availability_domain
  compartment_ocid    = var.compartment_ocid
  shape               = var.shape
  instance_tags       = merge(var.oci_tags, local.image_tags)

  # A shape of another kind has a size of its own.
  dynamic "shape_config" {
    for_each = length(regexall("[.]Flex$", var.shape)) > 0 ? [var.shape] : []
    content {
      ocpus         = var.ocpus
      memory_in_gbs = var.memory_in_gbs
    }
  }

  create_vnic_details {
    subnet_id = var.subnet_ocid
  }

  # The machine makes its own certificate, so no authority can sign it. The platform makes the password, and the plugin
  # asks for it. NTLM keeps it off the wire.
  user_data      = "#ps1_sysnative\n${file("${path.root}/winrm.ps1")}${file("${path.root}/account.ps1")}${file("${path.root}/token-filter.ps1")}"
  communicator   = "winrm"
  winrm_use_ssl  = true
  winrm_insecure = true
  winrm_use_ntlm = true
  winrm_username = "opc"
  winrm_timeout  = "45m"

  # The base image.

  base_image_filter {
    operating_system         = "Windows"
    operating_system_version = var.base_image_version
    # As the platform names its images: the node images lie in the same compartment.
    display_name_search = "^Windows-Server-"
  }

  # The node image.
  image_name = var.image_name
  tags       = merge(var.oci_tags, local.image_tags)
}
