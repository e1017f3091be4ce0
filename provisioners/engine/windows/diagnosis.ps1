# Events, the serial port and answers of local services.

# An error in the log Application. The program makes its source by itself.
function Write-EventLine {
    [CmdletBinding()]
    param([string] $Text)
    $line = $Text.Substring(0, [Math]::Min(1000, $Text.Length)) -replace '["\r\n]', ' '
    $arguments = @('/t', 'error', '/id', '1', '/l', 'application', '/so', 'imagegen', '/d', $line)
    $null = Invoke-Native -Program "$script:System32\eventcreate.exe" -Arguments $arguments
}

# A line for whoever reads the machine's serial port, `COM2,115200,N,8`.
function Write-SerialLine {
    [CmdletBinding()]
    param([string] $Port, [string] $Text)
    $parts = $Port.Split(',')
    $opened = New-Object -TypeName IO.Ports.SerialPort -ArgumentList $parts[0], ([int]$parts[1])
    $opened.WriteTimeout = 5000
    $opened.Open()
    try {
        $opened.WriteLine($Text)
    } finally {
        $opened.Close()
    }
}

# What a local service answers, $null when it does not or not well.
function Get-UrlText {
    [CmdletBinding()]
    param([string] $Url)
    $arguments = @('--fail', '--silent', '--max-time', '5', '--noproxy', '*', $Url)
    $result = Invoke-Native -Program "$script:System32\curl.exe" -Arguments $arguments -Accept @()
    if ($result.exitCode -eq 0) { $result.output }
}

# Warnings and errors of the system, and all of the container services.
function Get-EventText {
    [CmdletBinding()]
    param([int] $Hours)
    $since = (Get-Date).AddHours(-$Hours)
    $filters = @(@{ LogName = 'System', 'Application'; Level = 1, 2, 3; StartTime = $since })
    foreach ($name in 'Microsoft-Windows-Host-Network-Service-Admin', 'Microsoft-Windows-Hyper-V-Compute-Admin') {
        $filters += @{ LogName = $name; StartTime = $since }
    }
    foreach ($filter in $filters) {
        $query = @{ FilterHashtable = $filter; MaxEvents = 2000; ErrorAction = 'SilentlyContinue' }
        # A log that this Windows does not have stops the command all the same.
        try { $found = @(Get-WinEvent @query) } catch { $found = @() }
        foreach ($item in $found) {
            $from = "$($item.LogName) $($item.ProviderName) $($item.Id)"
            '{0:o} {1}: {2}' -f $item.TimeCreated, $from, $item.Message
        }
    }
}
