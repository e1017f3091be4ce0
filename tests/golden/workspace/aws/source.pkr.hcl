source "amazon-ebs" "node" {
  # Signing in.
  profile = var.profile
  region  = var.region

  # The build machine. Version 1 of the metadata service is off.
  instance_type     = var.instance_type
  shutdown_behavior = "stop"
  run_tags          = merge(var.aws_tags, var.image_tags)
  run_volume_tags   = merge(var.aws_tags, var.image_tags)

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = var.metadata_hop_limit
  }

  launch_block_device_mappings {
    device_name           = "/dev/sda1"
    volume_size           = var.root_volume_size
    volume_type           = var.root_volume_type
    delete_on_termination = true
  }

  # The machine makes its own certificate, so no authority can sign it. EC2Launch makes the password, and Packer gets
  # it encrypted with a key pair of this build. NTLM keeps it off the wire.
  user_data                = "<powershell>\n${file("${path.root}/winrm.ps1")}</powershell>\n"
  communicator             = "winrm"
  winrm_use_ssl            = true
  winrm_insecure           = true
  winrm_use_ntlm           = true
  winrm_username           = "Administrator"
  winrm_timeout            = "30m"
  windows_password_timeout = "30m"

  temporary_security_group_source_public_ip = true

  # The base image.

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

  # The node image.
  ami_name                = var.ami_name
  ami_virtualization_type = "hvm"
  tags                    = merge(var.aws_tags, var.image_tags)
  snapshot_tags           = merge(var.aws_tags, var.image_tags)
}
