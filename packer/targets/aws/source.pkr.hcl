source "amazon-ebs" "node" {
  # Signing in.
  profile    = var.profile
  access_key = var.access_key
  secret_key = var.secret_key
  token      = var.token
  region     = var.region

  assume_role {
    role_arn         = var.assume_role_arn
    session_name     = var.assume_role_session_name
    external_id      = var.assume_role_external_id
    duration_seconds = var.assume_role_duration_seconds
  }

  # The build machine. Version 1 of the metadata service is off.
  instance_type        = var.instance_type
  spot_price           = var.spot_price
  iam_instance_profile = var.iam_instance_profile
  shutdown_behavior    = "stop"
  run_tags             = merge(var.aws_tags, var.image_tags)
  run_volume_tags      = merge(var.aws_tags, var.image_tags)

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = var.metadata_hop_limit
  }

  launch_block_device_mappings {
    device_name           = "/dev/sda1"
    volume_size           = var.root_volume_size
    volume_type           = var.root_volume_type
    iops                  = var.root_volume_iops
    throughput            = var.root_volume_throughput
    delete_on_termination = true
  }

  # The machine makes its own certificate, so no authority can sign it. EC2Launch makes the password, and Packer gets
  # it encrypted with a key pair of this build. NTLM keeps it off the wire.
  user_data                = "<powershell>\n${file("${path.root}/winrm.ps1")}</powershell>\n"
  communicator             = "winrm"
  winrm_use_ssl            = true
  winrm_insecure           = true
  winrm_use_ntlm           = true
  winrm_username           = "{{ target.build_user }}"
  winrm_timeout            = "30m"
  windows_password_timeout = "30m"

  vpc_id                                = var.vpc_id
  subnet_id                             = var.subnet_id
  security_group_ids                    = var.security_group_ids
  associate_public_ip_address           = var.associate_public_ip_address
  ssh_interface                         = var.ssh_interface
  temporary_security_group_source_cidrs = var.allowed_inbound_cidrs
  #{% if uses.network_new %}
  temporary_security_group_source_public_ip = true
  #{% endif %}

  # The base image.
  source_ami = var.source_ami
  #{% if uses.image_source_amazon %}

  source_ami_filter {
    filters = {
      "name"                = "${var.source_ami_name}-${var.source_ami_date}"
      "architecture"        = "x86_64"
      "root-device-type"    = "ebs"
      "virtualization-type" = "hvm"
    }
    owners      = var.source_ami_owners
    most_recent = true
  }
  #{% endif %}

  # The node image.
  ami_name                = var.ami_name
  ami_description         = var.ami_description
  ami_virtualization_type = "hvm"
  ami_users               = var.ami_users
  ami_org_arns            = var.ami_org_arns
  ami_ou_arns             = var.ami_ou_arns
  ami_regions             = var.ami_regions
  snapshot_users          = var.snapshot_users
  #{% if uses.encryption_default_key or uses.encryption_kms_key %}
  encrypt_boot = true
  #{% endif %}
  kms_key_id         = var.kms_key_id
  region_kms_key_ids = var.region_kms_key_ids
  imds_support       = var.imds_support
  deprecate_at       = var.deprecate_at
  tags               = merge(var.aws_tags, var.image_tags)
  snapshot_tags      = merge(var.aws_tags, var.image_tags)

  deregistration_protection {
    enabled = var.deregistration_protection
  }

  fast_launch {
    enable_fast_launch    = var.fast_launch
    max_parallel_launches = var.fast_launch_parallel
    target_resource_count = var.fast_launch_snapshots
  }
}
