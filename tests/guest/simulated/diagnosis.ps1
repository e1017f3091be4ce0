# Events, the serial port and answers of local services.

function Get-UrlText {
    [CmdletBinding()]
    param([string] $Url)
    Get-Simulation -Area 'pages' -Name $Url
}

function Get-EventText {
    [CmdletBinding()]
    param([int] $Hours)
    "$(Get-Simulation -Area 'os' -Name 'events')"
}

function Write-EventLine {
    [CmdletBinding()]
    param([string] $Text)
    Set-Simulation -Area 'os' -Name 'event' -Value $Text
}

function Write-SerialLine {
    [CmdletBinding()]
    param([string] $Port, [string] $Text)
    Set-Simulation -Area 'os' -Name 'serial' -Value "$Port $Text"
}
