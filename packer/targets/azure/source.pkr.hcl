source "azure-arm" "node" {
  #{% if uses.auth_azure_cli %}

  use_azure_cli_auth = true
  #{% endif %}
  #{% if has.subscription_id %}

  subscription_id = var.subscription_id
  #{% endif %}
  #{% if has.tenant_id %}

  tenant_id = var.tenant_id
  #{% endif %}
  #{% if has.client_id %}

  client_id = var.client_id
  #{% endif %}
  #{% if has.client_secret %}

  client_secret = var.client_secret
  #{% endif %}
  #{% if has.client_cert_path %}

  client_cert_path = var.client_cert_path
  #{% endif %}
  #{% if has.client_cert_password %}

  client_cert_password = var.client_cert_password
  #{% endif %}
  #{% if has.client_jwt %}

  client_jwt = var.client_jwt
  #{% endif %}
  #{% if uses.auth_oidc %}

  oidc_request_url   = var.oidc_request_url
  oidc_request_token = var.oidc_request_token
  #{% endif %}
  #{% if has.cloud_environment_name %}

  cloud_environment_name = var.cloud_environment_name
  #{% endif %}

  # The build machine.
  #{% if has.location %}

  location = var.location
  #{% endif %}
  #{% if has.build_resource_group_name %}

  build_resource_group_name = var.build_resource_group_name
  #{% endif %}
  #{% if has.temp_resource_group_name %}

  temp_resource_group_name = var.temp_resource_group_name
  #{% endif %}
  #{% if has.build_key_vault_name %}

  build_key_vault_name = var.build_key_vault_name
  #{% endif %}

  os_type                  = "Windows"
  vm_size                  = var.vm_size
  polling_duration_timeout = var.polling_duration_timeout
  azure_tags               = merge(var.azure_tags, var.image_tags)
  #{% if has.os_disk_size_gb %}

  os_disk_size_gb = var.os_disk_size_gb
  #{% endif %}
  #{% if has.spot_eviction_policy %}

  spot {
    eviction_policy = var.spot_eviction_policy
    #{% if has.spot_max_price %}

    max_price = var.spot_max_price
    #{% endif %}
  }
  #{% endif %}
  #{% if has.user_assigned_managed_identities %}

  user_assigned_managed_identities = var.user_assigned_managed_identities
  #{% endif %}
  #{% if has.encryption_at_host %}

  encryption_at_host = var.encryption_at_host
  #{% endif %}
  #{% if has.license_type %}

  license_type = var.license_type
  #{% endif %}
  #{% if has.disk_encryption_set_id %}

  disk_encryption_set_id = var.disk_encryption_set_id
  #{% endif %}
  #{% if uses.machine_trusted_launch or uses.machine_confidential %}

  secure_boot_enabled = true
  vtpm_enabled        = true
  #{% endif %}
  #{% if uses.machine_confidential %}

  security_type            = "ConfidentialVM"
  security_encryption_type = var.security_encryption_type
  #{% endif %}

  # The plugin makes the certificate and the password, and opens the HTTPS listener by Azure's own means.
  # The certificate is made for this one machine, so no authority can vouch for it.
  communicator   = "winrm"
  winrm_use_ssl  = true
  winrm_insecure = true
  winrm_username = "{{ target.build_user }}"
  winrm_timeout  = "30m"
  #{% if has.winrm_expiration_time %}

  winrm_expiration_time = var.winrm_expiration_time
  #{% endif %}
  #{% if has.allowed_inbound_ip_addresses %}

  allowed_inbound_ip_addresses = var.allowed_inbound_ip_addresses
  #{% endif %}
  #{% if has.public_ip_sku %}

  public_ip_sku = var.public_ip_sku
  #{% endif %}
  #{% if has.virtual_network_name %}

  virtual_network_name = var.virtual_network_name
  #{% endif %}
  #{% if has.virtual_network_resource_group_name %}

  virtual_network_resource_group_name = var.virtual_network_resource_group_name
  #{% endif %}
  #{% if has.virtual_network_subnet_name %}

  virtual_network_subnet_name = var.virtual_network_subnet_name
  #{% endif %}
  #{% if has.private_virtual_network_with_public_ip %}

  private_virtual_network_with_public_ip = var.private_virtual_network_with_public_ip
  #{% endif %}

  # What the image is built from.
  #{% if uses.image_source_marketplace %}

  image_publisher = var.image_publisher
  image_offer     = var.image_offer
  image_sku       = var.image_sku
  image_version   = var.image_version
  #{% endif %}
  #{% if uses.image_source_gallery %}

  shared_image_gallery {
    subscription   = var.source_gallery_subscription
    resource_group = var.source_gallery_resource_group
    gallery_name   = var.source_gallery_name
    image_name     = var.source_gallery_image_name
    #{% if has.source_gallery_image_version %}

    image_version = var.source_gallery_image_version
    #{% endif %}
  }
  #{% endif %}
  #{% if uses.image_source_community_gallery %}

  shared_image_gallery {
    community_gallery_image_id = var.community_gallery_image_id
  }
  #{% endif %}
  #{% if uses.image_source_direct_shared_gallery %}

  shared_image_gallery {
    direct_shared_gallery_image_id = var.direct_shared_gallery_image_id
  }
  #{% endif %}

  # What is made of it.
  #{% if has.managed_image_name %}

  managed_image_name                = var.managed_image_name
  managed_image_resource_group_name = var.managed_image_resource_group_name
  #{% endif %}
  #{% if has.managed_image_storage_account_type %}

  managed_image_storage_account_type = var.managed_image_storage_account_type
  #{% endif %}
  #{% if has.managed_image_zone_resilient %}

  managed_image_zone_resilient = var.managed_image_zone_resilient
  #{% endif %}
  #{% if has.gallery_name %}

  shared_image_gallery_destination {
    resource_group = var.gallery_resource_group
    gallery_name   = var.gallery_name
    image_name     = var.gallery_image_name
    image_version  = var.gallery_image_version
    #{% if has.gallery_subscription %}

    subscription = var.gallery_subscription
    #{% endif %}
    #{% if has.gallery_storage_account_type %}

    storage_account_type = var.gallery_storage_account_type
    #{% endif %}
    #{% if has.gallery_replication_regions %}

    replication_regions = var.gallery_replication_regions
    #{% endif %}
    #{% if has.gallery_target_regions %}

    dynamic "target_region" {
      for_each = var.gallery_target_regions
      content {
        name = target_region.value
      }
    }
    #{% endif %}
    #{% if has.gallery_use_shallow_replication %}

    use_shallow_replication = var.gallery_use_shallow_replication
    #{% endif %}
    #{% if has.gallery_confidential_vm_image_encryption_type %}

    confidential_vm_image_encryption_type = var.gallery_confidential_vm_image_encryption_type
    #{% endif %}
  }

  shared_image_gallery_timeout = var.gallery_timeout
  #{% endif %}
  #{% if has.gallery_replica_count %}

  shared_image_gallery_replica_count = var.gallery_replica_count
  #{% endif %}
  #{% if has.gallery_end_of_life_date %}

  shared_gallery_image_version_end_of_life_date = var.gallery_end_of_life_date
  #{% endif %}
  #{% if has.gallery_exclude_from_latest %}

  shared_gallery_image_version_exclude_from_latest = var.gallery_exclude_from_latest
  #{% endif %}
}
