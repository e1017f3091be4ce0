locals {
  # An image takes ten tags: the user has those that only tell more of the program.
  image_tags = {
    for name, value in var.image_tags : name => value
    if !contains(["imagegen-commit", "imagegen-date", "imagegen-catalog"], name)
  }
}

source "oracle-oci" "node" {
  # Signing in.
  #{% if uses.auth_instance_principal %}
  use_instance_principals = true
  #{% endif %}
  access_cfg_file         = var.access_cfg_file
  access_cfg_file_account = var.access_cfg_file_account
  tenancy_ocid            = var.tenancy_ocid
  user_ocid               = var.user_ocid
  fingerprint             = var.fingerprint
  key_file                = var.key_file
  pass_phrase             = var.pass_phrase
  region                  = var.region

  # The build machine.
  availability_domain = var.availability_domain
  compartment_ocid    = var.compartment_ocid
  shape               = var.shape
  disk_size           = var.disk_size
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
    nsg_ids   = var.nsg_ids
    #{% if uses.network_private %}
    assign_public_ip = false
    #{% endif %}
  }
  #{% if uses.network_private %}
  use_private_ip = true
  #{% endif %}

  # The machine makes its own certificate, so no authority can sign it. The platform makes the password, and the plugin
  # asks for it. NTLM keeps it off the wire.
  user_data      = "#ps1_sysnative\n${file("${path.root}/winrm.ps1")}${file("${path.root}/account.ps1")}${file("${path.root}/token-filter.ps1")}"
  communicator   = "winrm"
  winrm_use_ssl  = true
  winrm_insecure = true
  winrm_use_ntlm = true
  winrm_username = "{{ target.build_user }}"
  winrm_timeout  = "45m"

  # The base image.
  base_image_ocid = var.base_image_ocid
  #{% if uses.image_source_platform %}

  base_image_filter {
    operating_system         = "Windows"
    operating_system_version = var.base_image_version
    # As the platform names its images: the node images lie in the same compartment.
    display_name_search = "^Windows-Server-"
  }
  #{% endif %}

  # The node image.
  image_name             = var.image_name
  image_compartment_ocid = var.image_compartment_ocid
  tags                   = merge(var.oci_tags, local.image_tags)
  defined_tags_json      = var.defined_tags_json
}
