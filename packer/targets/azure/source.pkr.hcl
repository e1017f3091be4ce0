source "azure-arm" "node" {
  #{% if uses.auth_azure_cli %}
  use_azure_cli_auth = true
  #{% endif %}
  subscription_id        = var.subscription_id
  tenant_id              = var.tenant_id
  client_id              = var.client_id
  client_secret          = var.client_secret
  client_cert_path       = var.client_cert_path
  client_cert_password   = var.client_cert_password
  client_jwt             = var.client_jwt
  oidc_request_url       = var.oidc_request_url
  oidc_request_token     = var.oidc_request_token
  cloud_environment_name = var.cloud_environment_name

  # The build machine.
  location                         = var.location
  build_resource_group_name        = var.build_resource_group_name
  temp_resource_group_name         = var.temp_resource_group_name
  build_key_vault_name             = var.build_key_vault_name
  os_type                          = "Windows"
  vm_size                          = var.vm_size
  polling_duration_timeout         = var.polling_duration_timeout
  azure_tags                       = merge(var.azure_tags, var.image_tags)
  os_disk_size_gb                  = var.os_disk_size_gb
  user_assigned_managed_identities = var.user_assigned_managed_identities
  encryption_at_host               = var.encryption_at_host
  license_type                     = var.license_type
  disk_encryption_set_id           = var.disk_encryption_set_id
  security_encryption_type         = var.security_encryption_type
  #{% if uses.machine_confidential %}
  security_type = "ConfidentialVM"
  #{% endif %}
  #{% if uses.machine_trusted_launch or uses.machine_confidential %}
  secure_boot_enabled = true
  vtpm_enabled        = true
  #{% endif %}

  spot {
    eviction_policy = var.spot_eviction_policy
    max_price       = var.spot_max_price
  }

  # The plugin creates the certificate and the password, and the platform opens the HTTPS listener.
  # The certificate is made for this one machine, so no authority can sign it.
  communicator                           = "winrm"
  winrm_use_ssl                          = true
  winrm_insecure                         = true
  winrm_username                         = "{{ target.build_user }}"
  winrm_timeout                          = "30m"
  winrm_expiration_time                  = var.winrm_expiration_time
  allowed_inbound_ip_addresses           = var.allowed_inbound_ip_addresses
  public_ip_sku                          = var.public_ip_sku
  virtual_network_name                   = var.virtual_network_name
  virtual_network_resource_group_name    = var.virtual_network_resource_group_name
  virtual_network_subnet_name            = var.virtual_network_subnet_name
  private_virtual_network_with_public_ip = var.private_virtual_network_with_public_ip

  # The base image.
  image_publisher = var.image_publisher
  image_offer     = var.image_offer
  image_sku       = var.image_sku
  image_version   = var.image_version

  shared_image_gallery {
    subscription                   = var.source_gallery_subscription
    resource_group                 = var.source_gallery_resource_group
    gallery_name                   = var.source_gallery_name
    image_name                     = var.source_gallery_image_name
    image_version                  = var.source_gallery_image_version
    community_gallery_image_id     = var.community_gallery_image_id
    direct_shared_gallery_image_id = var.direct_shared_gallery_image_id
  }

  # The node image.
  managed_image_name                 = var.managed_image_name
  managed_image_resource_group_name  = var.managed_image_resource_group_name
  managed_image_storage_account_type = var.managed_image_storage_account_type
  managed_image_zone_resilient       = var.managed_image_zone_resilient

  shared_image_gallery_timeout                     = var.gallery_timeout
  shared_image_gallery_replica_count               = var.gallery_replica_count
  shared_gallery_image_version_end_of_life_date    = var.gallery_end_of_life_date
  shared_gallery_image_version_exclude_from_latest = var.gallery_exclude_from_latest

  shared_image_gallery_destination {
    subscription                          = var.gallery_subscription
    resource_group                        = var.gallery_resource_group
    gallery_name                          = var.gallery_name
    image_name                            = var.gallery_image_name
    image_version                         = var.gallery_image_version
    storage_account_type                  = var.gallery_storage_account_type
    replication_regions                   = var.gallery_replication_regions
    use_shallow_replication               = var.gallery_use_shallow_replication
    confidential_vm_image_encryption_type = var.gallery_confidential_vm_image_encryption_type
    #{% if has.gallery_target_regions %}

    dynamic "target_region" {
      for_each = var.gallery_target_regions
      content {
        name = target_region.value
      }
    }
    #{% endif %}
  }
}
