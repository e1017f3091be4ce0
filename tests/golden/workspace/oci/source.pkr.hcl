source "oracle-oci" "node" {
  # Signing in.
  access_cfg_file_account = var.access_cfg_file_account
  region                  = var.region

  # The build machine.
  availability_domain = var.availability_domain
  compartment_ocid    = var.compartment_ocid
  shape               = var.shape
  instance_tags       = merge(var.oci_tags, var.image_tags)

  shape_config {
    ocpus         = var.ocpus
    memory_in_gbs = var.memory_in_gbs
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
  }

  # The node image.
  image_name = var.image_name
  tags       = merge(var.oci_tags, var.image_tags)
}
