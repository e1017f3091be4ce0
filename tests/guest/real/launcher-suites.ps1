# The launcher between the service manager and the kubelet, with a program in the place of the kubelet. Loaded by
# real.ps1.

$script:Launched = "$script:Root\launched"
$script:LaunchedService = 'imagegen-real-launched'

# `kubelet.exe`: a service that adds its words to kubelet.txt when it starts, and tells a version. A copy of it
# keeps the log, as kube-log-runner.exe does.
function New-LaunchedProgram {
    $text = @'
using System;
using System.Diagnostics;
using System.IO;
using System.Reflection;
using System.ServiceProcess;

public class Launched : ServiceBase
{
    private static string[] words;

    protected override void OnStart(string[] given)
    {
        string path = Path.ChangeExtension(Assembly.GetExecutingAssembly().Location, ".txt");
        File.AppendAllText(path, string.Join("\t", words) + "\n");
    }

    // As kube-log-runner.exe: its own flags, then a program with its words.
    private static int Keep(string[] given)
    {
        string file = given[0].Substring("--log-file=".Length);
        string line = string.Join(" ", given, 2, given.Length - 2);
        ProcessStartInfo start = new ProcessStartInfo(given[1], line);
        start.UseShellExecute = false;
        File.AppendAllText(file, "kept\n");
        using (Process process = Process.Start(start))
        {
            process.WaitForExit();
            return process.ExitCode;
        }
    }

    public static void Main(string[] given)
    {
        words = given;
        if (given.Length > 1 && given[0].StartsWith("--log-file=")) { Environment.Exit(Keep(given)); }
        else if (given.Length > 0 && given[0] == "--version") { Console.WriteLine("Kubernetes v1.30.0"); }
        else if (given.Length > 0 && given[given.Length - 1] == "--unknown") { Environment.Exit(7); }
        else { Run(new Launched()); }
    }
}
'@
    Write-Text -Path "$script:Launched\kubelet.cs" -Text $text
    $compiler = "$env:SystemRoot\Microsoft.NET\Framework64\v4.0.30319\csc.exe"
    $arguments = @('/nologo', "/out:$script:Launched\kubelet.exe", '/r:System.ServiceProcess.dll')
    $null = Invoke-Native -Program $compiler -Arguments ($arguments + "$script:Launched\kubelet.cs")
    [IO.File]::Copy("$script:Launched\kubelet.exe", "$script:Launched\kube-log-runner.exe", $true)
}

# The template as a plan renders it for a kubelet that writes no logs and lost three flags and two gates.
function Write-Launcher {
    $text = [IO.File]::ReadAllText("$Provisioners\templates\start-service.cmd").Replace("`r", '')
    $groups = @{ names = '--old --older --log-file Old Older'; minor = '29' }
    foreach ($name in $groups.Keys) { $text = $text.Replace("{{ group.$name }}", $groups[$name]) }
    $text = $text -replace '(?s)\{%- for group in item\.removed %\}(.*?)\{%- endfor %\}', '$1'
    $text = $text -replace '(?s)\{%-? (?:for|if) .*?\{%-? end(?:for|if) %\}'
    $values = @{
        '{{ item.name }}' = 'kubelet'
        '{{ item.file }}' = "$script:Launched\flags.env"
        '{{ item.ready }}' = "$script:Launched\ready"
        '{{ item.variable }}' = 'KUBELET_KUBEADM_ARGS'
        '{{ paths.kubernetes }}' = $script:Launched
        '{{ paths.log }}' = "$script:Launched\log"
    }
    foreach ($tag in $values.Keys) { $text = $text.Replace($tag, $values[$tag]) }
    if ($text -match '\{[{%]') { throw "the template has a tag that this suite does not know: $text" }
    $null = [IO.Directory]::CreateDirectory("$script:Launched\log\kubelet")
    $path = "$script:Launched\start-kubelet.cmd"
    [IO.File]::WriteAllText($path, $text.Replace("`n", "`r`n"), [Text.Encoding]::ASCII)
    $runner = "$script:Launched\kube-log-runner.exe --log-file=$script:Launched\log\kubelet\kubelet.log"
    "$env:SystemRoot\System32\cmd.exe /d /c $path $runner $script:Launched\kubelet.exe --own=1 --old=2"
}

function Get-LaunchedState {
    $found = Get-ServiceConfig -Name $script:LaunchedService
    if ($null -eq $found) { 'absent' } else { $found.state }
}

# Whether the service has the state within some seconds.
function Wait-Launched {
    param([string] $State, [int] $Seconds)
    try {
        Request-ServiceState -Name $script:LaunchedService -State $State
    } catch {
        Write-Verbose -Message "the request: $($_.Exception.Message)"
    }
    Wait-Until -Seconds $Seconds -Block { (Get-LaunchedState) -eq $State }
}

# The program, or the cmd.exe that started it.
function Get-LaunchedProcess {
    param([string] $Name)
    $query = @{ ClassName = 'Win32_Process'; Filter = "Name='$Name'" }
    foreach ($process in @(Get-CimInstance @query)) {
        if ("$($process.CommandLine)".Contains($script:Launched)) { $process.ProcessId }
    }
}

# Words of the last start, one text.
function Read-LaunchedWord {
    $lines = @(Read-ServiceLine -Path "$script:Launched\kubelet.txt")
    if ($lines.Count -gt 0) { $lines[-1].Replace("`t", ' ') }
}

# A start with this content of the file of flags, $null for none: the words that the program gets.
function Confirm-LaunchedWord {
    param([string] $Law, [string] $Content, [switch] $Absent, [string] $Wanted)
    $file = "$script:Launched\flags.env"
    if (-not (Wait-Launched -State 'stopped' -Seconds 10)) { throw 'the service does not stop' }
    if ([IO.File]::Exists($file)) { [IO.File]::Delete($file) }
    if (-not $Absent) { Write-Text -Path $file -Text $Content }
    $isRunning = Wait-Launched -State 'running' -Seconds 30
    $found = "$(Read-LaunchedWord)"
    $holds = $isRunning -and $found -ceq $Wanted
    Confirm-Law -Law $Law -Holds $holds -Detail "for '$Content': '$found', wanted '$Wanted', runs: $isRunning"
}

# Each content for itself, so that one does not hide the others.
function Test-LauncherWord {
    $name = 'KUBELET_KUBEADM_ARGS'
    $rows = @(
        @('launcher.arguments', "$name=`"`"`n", '--own=1'),
        @('launcher.arguments', '', '--own=1'),
        @('launcher.arguments', "OTHER=`"--a`"`n", '--own=1'),
        @('launcher.arguments', "$name=`"--a=b --older=1 --c=`"`n", '--own=1 --a=b --c='),
        @('launcher.arguments', "$name=`"--a=b --older=1 --c=`"`r`n", '--own=1 --a=b --c='),
        @('launcher.arguments', "$name=`"--a=1&2|3<4>5^6(7)`"`n", '--own=1 --a=1&2|3<4>5^6(7)'),
        @('launcher.arguments', "$name=`"--b=C:\\x\\y --c=k=v:NoSchedule,l=`"`n",
            '--own=1 --b=C:\x\y --c=k=v:NoSchedule,l='),
        @('launcher.arguments', "$name=`"--feature-gates=A=true,Old=true,Older=false --v=2`"`n",
            '--own=1 --feature-gates=A=true --v=2'),
        @('launcher.arguments', "$name=`"--feature-gates=Old=true --v=2`"`n", '--own=1 --v=2'),
        @('launcher.arguments', "$name=`"--pod-infra-container-image=x --d=a!b!`"`n", '--own=1 --d=a!b!'),
        @('launcher.percent', "$name=`"--a=50% --b=%PATH% --c=100%%`"`n", '--own=1 --a=50% --b=%PATH% --c=100%%')
    )
    foreach ($row in $rows) {
        Invoke-Suite -Name "flags '$($row[1].Trim())'" -Block {
            Confirm-LaunchedWord -Law $row[0] -Content $row[1] -Wanted $row[2]
        }
    }
    Invoke-Suite -Name 'no flags' -Block {
        Confirm-LaunchedWord -Law 'launcher.arguments' -Absent -Wanted '--own=1'
    }
}

# The service as its manager sees it: before a join, after it, and when one of its two processes is gone.
function Test-LauncherLife {
    # A request that is refused must not hold up the start of Windows until ServicesPipeTimeout is over.
    $clock = [Diagnostics.Stopwatch]::StartNew()
    $isRunning = Wait-Launched -State 'running' -Seconds 5
    $seconds = [int]$clock.Elapsed.TotalSeconds
    $left = @(Get-LaunchedProcess -Name 'cmd.exe').Count
    $holds = -not $isRunning -and (Get-LaunchedState) -eq 'stopped' -and $left -eq 0 -and $seconds -lt 15
    $detail = "$(Get-LaunchedState) after $seconds s, $left launchers"
    Confirm-Law -Law 'launcher.not-ready' -Holds $holds -Detail $detail
    Write-Text -Path "$script:Launched\ready" -Text ''
    foreach ($turn in 1, 2) {
        $isRunning = Wait-Launched -State 'running' -Seconds 30
        $isStopped = Wait-Launched -State 'stopped' -Seconds 10
        $detail = "running within 30 s: $isRunning, stopped within 10 s: $isStopped"
        Confirm-Law -Law 'launcher.answers' -Holds ($isRunning -and $isStopped) -Detail $detail
    }
}

function Test-LauncherEnd {
    $null = Wait-Launched -State 'running' -Seconds 30
    foreach ($id in @(Get-LaunchedProcess -Name 'kubelet.exe')) { Stop-Process -Id $id -Force }
    $isOver = Wait-Until -Seconds 20 -Block {
        (Get-LaunchedState) -eq 'stopped' -and @(Get-LaunchedProcess -Name 'cmd.exe').Count -eq 0
    }
    Confirm-Law -Law 'launcher.program-killed' -Holds $isOver -Detail (Get-LaunchedState)
    $isTold = Wait-Until -Block { "$(Get-EventText -Hours 1)".Contains("$script:Launched\log\kubelet") }
    Confirm-Law -Law 'launcher.event' -Holds $isTold -Detail 'the end of the program in the log Application'

    $isRunning = Wait-Launched -State 'running' -Seconds 30
    foreach ($id in @(Get-LaunchedProcess -Name 'cmd.exe')) { Stop-Process -Id $id -Force }
    Start-Sleep -Seconds 2
    $stays = $isRunning -and (Get-LaunchedState) -eq 'running'
    $isStopped = Wait-Launched -State 'stopped' -Seconds 10
    $detail = "stays: $stays, stopped within 10 s: $isStopped"
    Confirm-Law -Law 'launcher.launcher-killed' -Holds ($stays -and $isStopped) -Detail $detail
}

# A link in the place of the log, as a pod can plant it that mounts the folder of logs.
function Test-LauncherLink {
    $log, $away = "$script:Launched\log\kubelet\start.log", "$script:Launched\away.txt"
    Write-Text -Path $away -Text 'away'
    $null = Wait-Launched -State 'stopped' -Seconds 10
    if ([IO.File]::Exists($log)) { [IO.File]::Delete($log) }
    $null = New-Item -ItemType SymbolicLink -Path $log -Value $away
    try {
        $isRunning = Wait-Launched -State 'running' -Seconds 30
        $text = [IO.File]::ReadAllText($away)
        $holds = $isRunning -and $text -ceq 'away'
        Confirm-Law -Law 'launcher.link' -Holds $holds -Detail "runs: $isRunning, $text"
    } finally {
        $null = Wait-Launched -State 'stopped' -Seconds 10
        [IO.File]::Delete($log)
    }
}

# A program that ends at once, as a kubelet does that does not know a flag.
function Test-LauncherError {
    Write-Text -Path "$script:Launched\flags.env" -Text "KUBELET_KUBEADM_ARGS=`"--unknown`"`n"
    $null = Wait-Launched -State 'running' -Seconds 5
    $isOver = Wait-Until -Seconds 40 -Block { (Get-LaunchedState) -eq 'stopped' }
    $log = [IO.File]::ReadAllText("$script:Launched\log\kubelet\start.log")
    $holds = $isOver -and $log -match 'end 7\r?\n' -and $log.Contains('left out "--old"')
    # The flag of the program that keeps the log, which the kubelet has no more.
    $holds = $holds -and -not $log.Contains('left out "--log-file"')
    $holds = $holds -and [IO.File]::Exists("$script:Launched\log\kubelet\kubelet.log")
    Confirm-Law -Law 'launcher.log' -Holds $holds -Detail $log
}

function Test-Launcher {
    New-LaunchedProgram
    New-ServiceEntry -Name $script:LaunchedService -CommandLine (Write-Launcher)
    try {
        foreach ($part in 'Life', 'Word', 'End', 'Link', 'Error') {
            Invoke-Suite -Name "Test-Launcher$part" -Block { & "Test-Launcher$part" }
        }
    } finally {
        foreach ($name in 'cmd.exe', 'kubelet.exe') {
            foreach ($id in @(Get-LaunchedProcess -Name $name)) { Stop-Process -Id $id -Force }
        }
        Remove-TestService -Name $script:LaunchedService
    }
}
