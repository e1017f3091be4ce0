#{% if has.image_index %}
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
    #{% if has.product_key %}
    product_key = var.product_key
    #{% else %}
    product_key = ""
    #{% endif %}
    user = "{{ target.build_user }}"
  })
  sensitive = true
}
#{% endif %}
