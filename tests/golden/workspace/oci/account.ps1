# The platform's password of this account must be changed at the first sign-on, which WinRM cannot do. Packer asks
# the platform for the password; the account is disabled at the first boot of a node.
$account = [ADSI]'WinNT://./opc,user'
$account.PasswordExpired = 0
$account.SetInfo()
