# What is told of a node when something is wrong with it. Loaded by Node.psm1.

# The end of a log that may be written to, at most 4 MB of it. A link in its place is not followed: what it leads
# to may be any file, and a diagnosis is handed on.
function Get-LogEnd {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Path, [Parameter(Mandatory)] [string] $Below)
    $stream = Open-PlainFile -Path $Path -Below $Below -Access 'Read'
    try {
        $most = 4194304
        if ($stream.Length -gt $most) { $null = $stream.Seek(-$most, 'End') }
        $reader = New-Object -TypeName IO.StreamReader -ArgumentList $stream
        $reader.ReadToEnd()
    } finally {
        $stream.Dispose()
    }
}

function Get-NodeText {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Kind, [string] $Name)
    switch ($Kind) {
        'windows' { ConvertTo-Json -InputObject (Get-OsBuild) }
        'version' { (Invoke-NodeProgram -Program $Name -Arguments @('--version')).output }
        'health' {
            $url = "$(Get-HealthUrl -Facts (Get-NodeFact))"
            if ($url) { "$(Get-UrlText -Url $url)" } else { 'the cluster turns it off (healthzPort 0)' }
        }
        'events' { Get-EventText -Hours 24 }
        'service' { ConvertTo-Json -InputObject (Get-ServiceConfig -Name $Name) }
        'network' { ConvertTo-Json -InputObject @(Invoke-HostNetwork -Method 'GET' -Path "/$Name") -Depth 8 }
        'file' { Get-LogEnd -Path $Name -Below $script:Root }
        'log' {
            $facts = Get-NodeFact
            Get-LogEnd -Path $Name -Below (Get-LogFolder -Facts $facts)
        }
    }
}

# What a diagnosis asks for: the file in the archive, a kind of Get-NodeText, its name. Logs of pods are others'.
function Select-NodeText {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [hashtable] $Facts)
    @{ file = 'windows.json'; kind = 'windows'; name = '' }
    @{ file = 'kubelet-version.txt'; kind = 'version'; name = "$($Facts.kubelet)" }
    @{ file = 'kubelet-health.txt'; kind = 'health'; name = '' }
    @{ file = 'events.txt'; kind = 'events'; name = '' }
    foreach ($name in 'networks', 'endpoints', 'policylists') {
        @{ file = "host-$name.json"; kind = 'network'; name = $name }
    }
    foreach ($name in Select-Service -Names (@($Facts.before) + @('kubelet') + @($Facts.after))) {
        @{ file = "service-$name.json"; kind = 'service'; name = $name }
    }
    foreach ($name in 'guest-plan.json', 'node.conf', 'journal.jsonl', 'check-report.json', 'state/drift.json',
        'state/node.log', 'state/errors.log', 'state/firstboot.log') {
        $path = Join-Path -Path $script:Root -ChildPath $name
        if ([IO.File]::Exists($path)) { @{ file = "imagegen/$name"; kind = 'file'; name = $path } }
    }
    foreach ($log in @(Get-ServiceLog -Facts $Facts)) {
        @{ file = "log/$($log.Directory.Name)/$($log.Name)"; kind = 'log'; name = $log.FullName }
    }
}

# Texts about this node as one archive. What could not be had is told in its place. Nothing is a file before it is
# in the archive: pods may write into the folder of logs, and names there may be none that Windows takes.
function Save-Diagnosis {
    [CmdletBinding()]
    param([Parameter(Mandatory)] [string] $Destination, [Parameter(Mandatory)] [int] $Seconds)
    Add-Type -AssemblyName 'System.IO.Compression'
    $target = [IO.Path]::GetFullPath((Resolve-NativePath -Path $Destination))
    if ([IO.File]::Exists($target)) { throw "$Destination is there already" }
    $items = @(Select-NodeText -Facts (Get-NodeFact))
    # A link in the place of the archive would lead it to any file.
    $stream = Open-PlainFile -Path $target -Below ([IO.Path]::GetDirectoryName($target)) -Access 'Write'
    $mode = [IO.Compression.ZipArchiveMode]::Create
    $zip = New-Object -TypeName IO.Compression.ZipArchive -ArgumentList $stream, $mode
    try {
        foreach ($item in $items) {
            Start-Deadline -Name $item.file -Seconds $Seconds
            try {
                $text = @(Get-NodeText -Kind $item.kind -Name $item.name) -join "`n"
            } catch {
                $text = "not to be had: $($_.Exception.Message)"
            }
            Add-ArchiveText -Archive $zip -Name $item.file -Text (Protect-Text -Text $text)
        }
    } finally {
        $zip.Dispose()
    }
    Write-NodeLine -Text "diagnosis: $target"
}

# A file of an archive, as UTF-8 without byte order mark.
function Add-ArchiveText {
    [CmdletBinding()]
    param([Parameter(Mandatory)] $Archive, [Parameter(Mandatory)] [string] $Name,
        [Parameter(Mandatory)] [AllowEmptyString()] [string] $Text)
    $entry = $Archive.CreateEntry($Name)
    $writer = New-Object -TypeName IO.StreamWriter -ArgumentList ($entry.Open())
    try { $writer.Write($Text) } finally { $writer.Dispose() }
}
