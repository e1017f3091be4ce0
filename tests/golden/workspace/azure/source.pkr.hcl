source "azure-arm" "node" {
  use_azure_cli_auth = true

  # The build machine.
  location                 = var.location
  os_type                  = "Windows"
  vm_size                  = var.vm_size
  polling_duration_timeout = var.polling_duration_timeout
  azure_tags               = merge(var.azure_tags, var.image_tags)

  # The plugin creates the certificate and the password, and the platform opens the HTTPS listener.
  # The certificate is made for this one machine, so no authority can sign it.
  communicator   = "winrm"
  winrm_use_ssl  = true
  winrm_insecure = true
  winrm_username = "packer"
  winrm_timeout  = "30m"

  # The base image.
  image_publisher = var.image_publisher
  image_offer     = var.image_offer
  image_sku       = var.image_sku
  image_version   = var.image_version

  # The node image.
  managed_image_name                = var.managed_image_name
  managed_image_resource_group_name = var.managed_image_resource_group_name
}
