# Plans and scripts that are refused before anything is changed.
BeforeAll {
    . "$PSScriptRoot/../world/load.ps1"

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
        param([string] $Odd, [string] $OddSigner, [string] $Policy = 'AllSigned')
        $world = New-World -Edit {
            param($content)
            $digest = Get-ByteHash -Bytes (Get-TextByte -Text 'Provider')
            $named = [pscustomobject]@{ subject = 'CN=Provider'; sha256 = $digest }
            $content | Add-Member -NotePropertyName 'signers' -NotePropertyValue @($named)
            $payload = Get-ChildItem -LiteralPath "$env:IMAGEGEN_SIMULATION/C/imagegen" -Recurse -File
            foreach ($script in $payload | Where-Object { $_.Extension -in '.ps1', '.psm1' }) {
                $name = 'Provider'
                if ($script.Name -eq $Odd) { $name = $OddSigner }
                if ($name) { [IO.File]::AppendAllText($script.FullName, "# signed by $name`n") }
            }
        }
        Set-Simulation -Area 'policy' -Name 'execution' -Value $Policy
        $world
    }
}

# Each defect is refused with exit code 2 and leaves the machine as it was.
Describe 'Refusal' -Tag 'engine' {
    It '<name> is refused and changes nothing' -ForEach @(
        @{ name = 'an unknown property'; change = {
            param($directory)
            $directory.properties | Add-Member -NotePropertyName 'pth' -NotePropertyValue 'x'
        } }
        @{ name = 'an unknown type'; change = { param($directory) $directory.type = 'directry' } }
        @{ name = 'a wildcard as type'; change = { param($directory) $directory.type = '*' } }
        @{ name = 'a missing property'; change = {
            param($directory)
            $directory.properties.PSObject.Properties.Remove('path')
        } }
        @{ name = 'no time'; change = { param($directory) $directory.timeoutSeconds = 0 } }
    ) {
        $world = New-World -Edit {
            param($content)
            $null = & $change (Select-Named -Content $content -Name 'directories/pki')
        }
        Assert-Refusal -World $world
    }

    It 'an artifact that nobody pinned is refused and changes nothing' {
        $script:world = New-World
        $path = "$world/C/imagegen/guest-plan.json"
        $script:content = [IO.File]::ReadAllText($path) | ConvertFrom-Json
        $content.resources | Where-Object { $_.name -eq 'kubelet/program' } |
            ForEach-Object { $_.properties.digest = 'unpinned' }
        [IO.File]::WriteAllText($path, (ConvertTo-Json -InputObject $content -Depth 10))
        Assert-Refusal -World $world
    }

    It 'another schema is refused and changes nothing' {
        $script:world = New-World -Edit {
            param($content)
            $content.schema = 'imagegen.dev/guest-plan/v9'
        }
        Assert-Refusal -World $world
    }

    Context '<hosts>' -ForEach @(
        @{ hosts = '"files.example"' }
        @{ hosts = 'null' }
        @{ hosts = '[null]' }
        @{ hosts = '["f*"]' }
        @{ hosts = '["*"]' }
        @{ hosts = '["?iles.example"]' }
        @{ hosts = '[["a"]]' }
    ) {
        BeforeAll {
            $script:world = New-World
            $path = "$world/C/imagegen/guest-plan.json"
            $text = [IO.File]::ReadAllText($path).TrimStart().Substring(1)
            [IO.File]::WriteAllText($path, "{ `"allowedHosts`": $hosts, $text")
        }

        It 'allowedHosts of <hosts> is refused and changes nothing' {
            Assert-Refusal -World $world
        }
    }

    It 'a changed script is refused and changes nothing' {
        $script:world = New-World
        [IO.File]::AppendAllText("$world/C/imagegen/resources/file.ps1", "`n")
        Assert-Refusal -World $world
    }

    It 'a missing script is refused and changes nothing' {
        $script:world = New-World
        [IO.File]::Delete("$world/C/imagegen/resources/file.ps1")
        Assert-Refusal -World $world
    }

    It 'a foreign script is refused and changes nothing' {
        $script:world = New-World
        [IO.File]::WriteAllText("$world/C/imagegen/resources/extra.ps1", "# nothing`n")
        Assert-Refusal -World $world
    }
}

# Global functions stand before the commands of Windows.
Describe 'Signature' -Tag 'engine' {
    BeforeAll {
        $played = ${function:Get-PlayedSignature}
        $null = New-Item -Path 'function:global:Get-AuthenticodeSignature' -Value $played -Force
        $played = { Get-Simulation -Area 'policy' -Name 'execution' }
        $null = New-Item -Path 'function:global:Get-ExecutionPolicy' -Value $played -Force
    }

    AfterAll {
        Remove-Item -LiteralPath 'function:Get-AuthenticodeSignature', 'function:Get-ExecutionPolicy'
    }

    It 'signed scripts are run' {
        Assert-Run -Run (Invoke-Engine -World (New-SignedWorld) -Phase 'bootstrap') -Code 0
    }

    It 'an unsigned script is refused and changes nothing' {
        Assert-Refusal -World (New-SignedWorld -Odd 'file.ps1')
    }

    It 'a script that another has signed is refused and changes nothing' {
        Assert-Refusal -World (New-SignedWorld -Odd 'file.ps1' -OddSigner 'Somebody')
    }

    It 'a process that loads unsigned scripts is refused and changes nothing' {
        Assert-Refusal -World (New-SignedWorld -Policy 'Bypass')
    }
}
