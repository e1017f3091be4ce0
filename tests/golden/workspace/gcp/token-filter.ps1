# NTLM gives a local administrator other than the built-in one (RID 500) a token without rights in remote sessions,
# which the cmd shell of WinRM refuses: https://github.com/ansible/ansible/issues/42978. First boot takes this
# back.
$policy = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Policies\System'
$filter = @{ Name = 'LocalAccountTokenFilterPolicy'; Value = 1; PropertyType = 'DWord' }
$null = New-ItemProperty -LiteralPath $policy @filter -Force
