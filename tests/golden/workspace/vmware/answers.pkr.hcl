# Exists only in Packer's memory and on the disc with the answer file.
local "build_password" {
  expression = "Aa1-${uuidv4()}"
  sensitive  = true
}

local "answer_file" {
  expression = templatefile("${path.root}/Autounattend.xml.pkrtpl", {
    firmware     = local.firmware
    driver_paths = local.driver_paths
    commands     = local.commands
    image_index  = var.image_index
    password     = local.build_password
    product_key  = ""
    user         = "Administrator"
  })
  sensitive = true
}
