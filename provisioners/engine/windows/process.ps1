# Programs, scripts and processes.

# A program with everything that it started.
function Stop-ProcessTree {
    [CmdletBinding()]
    param([Diagnostics.Process] $Process)
    if ($Process.HasExited) { return }
    $line = "/PID $($Process.Id) /T /F"
    $native = Start-Native -Program "$script:System32\taskkill.exe" -ArgumentLine $line
    if (-not $native.process.WaitForExit(15000)) { $native.process.Kill() }
    if (-not $Process.WaitForExit(5000)) { $Process.Kill() }
}

# What came of a package: `installed`, `restart`, or `busy`, because Windows Installer takes one package at a time.
# Its properties have msiexec's own quoting: NAME="a value".
function Install-Msi {
    [CmdletBinding()]
    param([string] $Package, [string] $Log, [string[]] $Arguments = @())
    $line = "/i `"$Package`" /qn /norestart /l*v `"$Log`""
    foreach ($argument in $Arguments) { $line += ' ' + ($argument -replace '^([^=]+)=(.*\s.*)$', '$1="$2"') }
    $names = @{ '0' = 'installed'; '3010' = 'restart'; '1618' = 'busy' }
    $result = Invoke-Native -Program "$script:System32\msiexec.exe" -ArgumentLine $line -Accept 0, 3010, 1618
    $names["$($result.exitCode)"]
}

# A program that the plan names: exit code and text.
function Invoke-Program {
    [CmdletBinding()]
    param([string] $Program, [string[]] $Arguments = @())
    Invoke-Native -Program $Program -Arguments $Arguments -Accept @()
}

# A program of the pod network: what to do is in its environment, about which network in its input.
function Invoke-NetworkProgram {
    [CmdletBinding()]
    param([string] $Program, [string] $Text, [hashtable] $Environment)
    Invoke-Native -Program $Program -InputText $Text -Environment $Environment -Accept @()
}

function Get-PowerShellPath {
    [CmdletBinding()]
    param()
    "$script:System32\WindowsPowerShell\v1.0\powershell.exe"
}

# PowerShell of the plan, in a process of its own: it can neither see nor change the engine.
function Invoke-ScriptText {
    [CmdletBinding()]
    param([string] $Text)
    $encoded = [Convert]::ToBase64String([Text.Encoding]::Unicode.GetBytes((Get-ScriptFrame -Text $Text)))
    $arguments = @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', (Get-ChildPolicy))
    $arguments += @('-OutputFormat', 'Text', '-EncodedCommand', $encoded)
    $result = Invoke-Native -Program (Get-PowerShellPath) -Arguments $arguments -Accept @()
    if ($result.exitCode -eq 0) { return $result.stdout }
    # Standard output alone: 5.1 writes errors as CLIXML, so the text catches its own and prints them.
    $said = $result.stdout.Trim()
    if (-not $said) { $said = $result.output.Trim() }
    throw "the script failed with exit code $($result.exitCode): $said".TrimEnd(':', ' ')
}

# The execution policy of processes that this one starts: no weaker one than it runs under itself.
function Get-ChildPolicy {
    [CmdletBinding()]
    param()
    if ("$(Get-ExecutionPolicy)" -eq 'AllSigned') { 'AllSigned' } else { 'Bypass' }
}
