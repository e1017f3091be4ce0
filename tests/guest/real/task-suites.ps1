# Tasks: of the engine's abilities, and of XML by schtasks.exe. Loaded by real.ps1.

# Exit code of schtasks for a task whose XML begins with a line, in UTF-8 or with the byte order mark of UTF-16.
function New-XmlTask {
    param([string] $Declaration, [string] $Encoding = 'ascii')
    $text = @(
        $Declaration
        '<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">'
        '<Principals><Principal id="Author"><UserId>S-1-5-18</UserId></Principal></Principals>'
        '<Actions Context="Author"><Exec><Command>C:\Windows\System32\cmd.exe</Command>'
        '<Arguments>/c exit 0</Arguments></Exec></Actions></Task>'
    ) -join "`r`n"
    $path = "$script:Work\task.xml"
    [IO.File]::WriteAllText($path, $text, [Text.Encoding]::GetEncoding($Encoding))
    $program = "$env:SystemRoot\System32\schtasks.exe"
    $line = "/create /tn imagegen-real-xml /xml `"$path`" /f"
    $ran = Invoke-Native -Program $program -ArgumentLine $line -Accept @()
    if ($ran.exitCode -eq 0) { Remove-Task -Name 'imagegen-real-xml' }
    $ran
}

function Test-TaskXml {
    $ran = New-XmlTask -Declaration '<?xml version="1.0" encoding="UTF-8"?>'
    Confirm-Law -Law 'task.xml-utf-8' -Holds ($ran.exitCode -ne 0) -Detail $ran.output
    $ran = New-XmlTask -Declaration '<?xml version="1.0" ?>'
    Confirm-Law -Law 'task.xml-plain' -Holds ($ran.exitCode -eq 0) -Detail $ran.output
    $ran = New-XmlTask -Declaration '<?xml version="1.0" encoding="UTF-16"?>' -Encoding 'utf-16'
    Assert-That -Name 'a task in UTF-16 is taken' -Holds ($ran.exitCode -eq 0) -Detail $ran.output
}

function Test-Task {
    foreach ($law in 'task.absent-remove', 'task.absent-start', 'task.absent-stop') {
        Confirm-Refusal -Law $law -Block {
            switch ($law) {
                'task.absent-remove' { Remove-Task -Name 'imagegen-real-none' }
                'task.absent-start' { Start-Task -Name 'imagegen-real-none' }
                'task.absent-stop' { Stop-Task -Name 'imagegen-real-none' -Program 'C:\none.exe' }
            }
        }
    }
    $name = 'imagegen-real-task'
    # A copy, because a task is stopped with every process of its program.
    $shell = "$script:Root\shell.exe"
    Copy-Item -LiteralPath "$env:SystemRoot\System32\cmd.exe" -Destination $shell
    $path = "$script:Work\turns.txt"
    $line = "/c echo turn >> `"$path`" & ping.exe -n 6 127.0.0.1 > nul"
    Set-Task -Name $name -Program $shell -ArgumentLine $line -Trigger 'daily' -Enabled $true
    try {
        $task = Get-ScheduledTask -TaskName $name -TaskPath '\' -ErrorAction Stop
        $start = "$(@($task.Triggers)[0].StartBoundary)"
        Confirm-Law -Law 'task.zone' -Holds ($start -match 'T03:00:00$') -Detail $start
        $told = "$($task.Principal.UserId) $($task.Principal.LogonType)"
        $holds = $told -match '^(SYSTEM|S-1-5-18) ServiceAccount$'
        Confirm-Law -Law 'task.principal' -Holds $holds -Detail $told
        $found = $task.Settings
        $told = "$($found.Priority) $($found.DisallowStartIfOnBatteries) $($found.ExecutionTimeLimit)"
        Confirm-Law -Law 'task.settings' -Holds ($told -eq '4 False PT0S') -Detail $told

        Start-Task -Name $name
        $null = Wait-Until -Block { [IO.File]::Exists($path) }
        Start-Task -Name $name
        Start-Sleep -Seconds 2
        $turns = @([IO.File]::ReadAllLines($path)).Count
        Confirm-Law -Law 'task.one-instance' -Holds ($turns -eq 1) -Detail "$turns turns"
        Stop-Task -Name $name -Program $shell
    } finally {
        Remove-Task -Name $name
    }
    $code = Invoke-AsSystem -Program $shell -ArgumentLine '/c exit 42'
    Confirm-Law -Law 'task.as-system' -Holds ($code -eq 42) -Detail $code
}
