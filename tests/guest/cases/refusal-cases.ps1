# Plans and scripts that are refused before anything is changed. Loaded by run.ps1.

# Each defect is refused with exit code 2 and leaves the machine as it was.
function Test-Refusal {
    param([string] $Source)
    $edits = @{
        'an unknown property' = {
            param($directory)
            $directory.properties | Add-Member -NotePropertyName 'pth' -NotePropertyValue 'x'
        }
        'an unknown type' = {
            param($directory)
            $directory.type = 'directry'
        }
        'a wildcard as type' = {
            param($directory)
            $directory.type = '*'
        }
        'a missing property' = {
            param($directory)
            $directory.properties.PSObject.Properties.Remove('path')
        }
        'no time' = {
            param($directory)
            $directory.timeoutSeconds = 0
        }
    }
    foreach ($name in $edits.Keys) {
        $world = New-World -Source $Source
        $path = "$world/C/imagegen/guest-plan.json"
        $content = [IO.File]::ReadAllText($path) | ConvertFrom-Json
        $null = & $edits[$name] ($content.resources | Where-Object { $_.name -eq 'directories/pki' })
        [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
        Assert-Refusal -Name $name -World $world
    }
    $world = New-World -Source $Source
    $path = "$world/C/imagegen/guest-plan.json"
    $content = [IO.File]::ReadAllText($path) | ConvertFrom-Json
    $content.resources | Where-Object { $_.name -eq 'kubelet/program' } |
        ForEach-Object { $_.properties.digest = 'unpinned' }
    [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
    Assert-Refusal -Name 'an artifact that nobody pinned' -World $world
    $world = New-World -Source $Source -Edit {
        param($content)
        $content.schema = 'imagegen.dev/guest-plan/v9'
    }
    Assert-Refusal -Name 'another schema' -World $world
    foreach ($hosts in '"files.example"', 'null', '[null]', '["f*"]', '["*"]', '["?iles.example"]', '[["a"]]') {
        $world = New-World -Source $Source
        $path = "$world/C/imagegen/guest-plan.json"
        $text = [IO.File]::ReadAllText($path).TrimStart().Substring(1)
        [IO.File]::WriteAllText($path, "{ `"allowedHosts`": $hosts, $text")
        Assert-Refusal -Name "allowedHosts of $hosts" -World $world
    }
    $world = New-World -Source $Source
    [IO.File]::AppendAllText("$world/C/imagegen/resources/file.ps1", "`n")
    Assert-Refusal -Name 'a changed script' -World $world
    $world = New-World -Source $Source
    [IO.File]::Delete("$world/C/imagegen/resources/file.ps1")
    Assert-Refusal -Name 'a missing script' -World $world
    $world = New-World -Source $Source
    [IO.File]::WriteAllText("$world/C/imagegen/resources/extra.ps1", "throw 'loaded'`n")
    Assert-Refusal -Name 'a foreign script' -World $world
}

# What Windows says of a script: here a signature is a last line `# signed by NAME`.
function Get-PlayedSignature {
    param([string] $LiteralPath)
    $found = [pscustomobject]@{ Status = 'NotSigned'; StatusMessage = 'played'; SignerCertificate = $null }
    $last = @([IO.File]::ReadAllLines($LiteralPath))[-1]
    if ($last -cmatch '^# signed by (.+)$') {
        $found.Status = 'Valid'
        $bytes = Get-TextByte -Text $Matches[1]
        $found.SignerCertificate = [pscustomobject]@{ Subject = "CN=$($Matches[1])"; RawData = $bytes }
    }
    $found
}

# A machine whose scripts are signed by the provider; $Odd by somebody else, or by nobody.
function New-SignedWorld {
    param([string] $Source, [string] $Odd, [string] $OddSigner, [string] $Policy = 'AllSigned')
    $world = New-World -Source $Source -Edit {
        param($content)
        $digest = Get-ByteHash -Bytes (Get-TextByte -Text 'Provider')
        $named = [pscustomobject]@{ subject = 'CN=Provider'; sha256 = $digest }
        $content | Add-Member -NotePropertyName 'signers' -NotePropertyValue @($named)
        $payload = Get-ChildItem -LiteralPath "$($script:World)/C/imagegen" -Recurse -File
        foreach ($script in $payload | Where-Object { $_.Extension -in '.ps1', '.psm1' }) {
            $name = 'Provider'
            if ($script.Name -eq $Odd) { $name = $OddSigner }
            if ($name) { [IO.File]::AppendAllText($script.FullName, "# signed by $name`n") }
        }
    }
    Set-Simulation -Area 'policy' -Name 'execution' -Value $Policy
    $world
}

# Global functions stand before the commands of Windows.
function Test-Signature {
    param([string] $Source)
    $played = ${function:Get-PlayedSignature}
    $null = New-Item -Path 'function:global:Get-AuthenticodeSignature' -Value $played -Force
    $played = { Get-Simulation -Area 'policy' -Name 'execution' }
    $null = New-Item -Path 'function:global:Get-ExecutionPolicy' -Value $played -Force
    try {
        $world = New-SignedWorld -Source $Source
        Assert-Run -Name 'signed scripts are run' -Run (Invoke-Engine -World $world -Phase 'bootstrap') -Code 0
        $world = New-SignedWorld -Source $Source -Odd 'file.ps1'
        Assert-Refusal -Name 'an unsigned script' -World $world
        $world = New-SignedWorld -Source $Source -Odd 'file.ps1' -OddSigner 'Somebody'
        Assert-Refusal -Name 'a script that another has signed' -World $world
        $world = New-SignedWorld -Source $Source -Policy 'Bypass'
        Assert-Refusal -Name 'a process that loads unsigned scripts' -World $world
    } finally {
        Remove-Item -LiteralPath 'function:Get-AuthenticodeSignature', 'function:Get-ExecutionPolicy'
    }
}
