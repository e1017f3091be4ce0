# Services of a program that is compiled here, through the engine's own abilities. Loaded by real.ps1.

# `service.exe WAY FILE WORD...`: it adds a line with its words and its variable A to the file when it starts.
function New-ServiceProgram {
    $text = @'
using System;
using System.IO;
using System.ServiceProcess;
using System.Threading;

public class Service : ServiceBase
{
    private static string[] words;

    private void End()
    {
        Thread.Sleep(500);
        if (words[0] == "crashes") { Environment.Exit(3); }
        ExitCode = 5;
        Stop();
    }

    protected override void OnStart(string[] given)
    {
        string line = string.Join("|", words) + "|" + Environment.GetEnvironmentVariable("A");
        File.AppendAllText(words[1], line + "\n");
        if (words[0] == "slow")
        {
            RequestAdditionalTime(60000);
            Thread.Sleep(8000);
        }
        if (words[0] == "crashes" || words[0] == "fails") { new Thread(End).Start(); }
    }

    public static void Main(string[] given)
    {
        words = given;
        Run(new Service());
    }
}
'@
    Write-Text -Path "$script:Root\service.cs" -Text $text
    $compiler = "$env:SystemRoot\Microsoft.NET\Framework64\v4.0.30319\csc.exe"
    $arguments = @('/nologo', "/out:$script:Service", '/r:System.ServiceProcess.dll', "$script:Root\service.cs")
    $null = Invoke-Native -Program $compiler -Arguments $arguments
}

# A service of that program; gives the file that it writes.
function New-TestService {
    param([string] $Name, [string] $Way, [string[]] $Words = @())
    $path = "$script:Root\$Name.txt"
    $line = Join-Argument -Arguments (@($script:Service, $Way, $path) + $Words)
    New-ServiceEntry -Name $Name -CommandLine $line
    $path
}

# Lines that the program has written, none before it has: the service manager answers a request to start before the
# program runs.
function Read-ServiceLine {
    param([string] $Path)
    if (-not [IO.File]::Exists($Path)) { return }
    $stream = Open-SharedFile -Path $Path
    try {
        $reader = New-Object -TypeName IO.StreamReader -ArgumentList $stream
        $reader.ReadToEnd().Split("`n") | Where-Object { $_ }
    } finally {
        $stream.Dispose()
    }
}

# Whatever became of it.
function Remove-TestService {
    param([string] $Name)
    if ($null -eq (Get-ServiceConfig -Name $Name)) { return }
    $null = & "$env:SystemRoot\System32\sc.exe" stop $Name
    $null = Wait-Until -Block {
        $found = Get-ServiceConfig -Name $Name
        $null -eq $found -or $found.state -eq 'stopped'
    }
    Remove-ServiceEntry -Name $Name
}

function Test-ServiceState {
    $name = 'imagegen-real-state'
    $path = New-TestService -Name $name -Way 'run' -Words 'a b', 'c d\'
    try {
        $found = Get-ServiceConfig -Name $name
        Confirm-Law -Law 'service.never-started' -Holds ($found.exitCode -eq 1077) -Detail $found.exitCode
        Confirm-Refusal -Law 'service.made-once' -Block { New-ServiceEntry -Name $name -CommandLine 'C:\x.exe' }
        Request-ServiceState -Name $name -State 'stopped'
        $found = Get-ServiceConfig -Name $name
        Confirm-Law -Law 'service.stopped-stop' -Holds ($found.state -eq 'stopped') -Detail $found.state
        Set-ServiceConfig -Name $name -Change @{ displayName = 'imagegen real state' }
        $again = Get-ServiceConfig -Name $name
        $holds = $again.commandLine -ceq $found.commandLine -and $again.startType -eq 'manual'
        Confirm-Law -Law 'service.change-leaves-the-rest' -Holds $holds -Detail $again.commandLine

        Wait-ServiceState -Name $name -State 'running'
        $line = @(Read-ServiceLine -Path $path)[-1]
        $holds = $line -ceq "run|$path|a b|c d\|"
        Confirm-Law -Law 'service.command-line' -Holds $holds -Detail $line
        Request-ServiceState -Name $name -State 'running'
        $found = Get-ServiceConfig -Name $name
        Confirm-Law -Law 'service.running-start' -Holds ($found.state -eq 'running') -Detail $found.state
        Remove-ServiceEntry -Name $name
        $found = Get-ServiceConfig -Name $name
        Confirm-Law -Law 'service.deleted-is-seen' -Holds ($null -ne $found) -Detail 'while it runs'
    } finally {
        $null = & "$env:SystemRoot\System32\sc.exe" stop $name
        $gone = Wait-Until -Block { $null -eq (Get-ServiceConfig -Name $name) }
        Confirm-Law -Law 'service.deleted-is-seen' -Holds $gone -Detail 'after it stopped'
    }
    Confirm-Refusal -Law 'service.absent-start' -Text '1060' -Block {
        Request-ServiceState -Name $name -State 'running'
    }
    Confirm-Refusal -Law 'service.absent-remove' -Block { Remove-ServiceEntry -Name $name } -Text '1060'
}

# Codes with which the service manager refuses a start.
function Test-ServiceRefusal {
    $name = 'imagegen-real-refused'
    New-ServiceEntry -Name $name -CommandLine 'C:\imagegen-real\none.exe'
    try {
        Confirm-Refusal -Law 'service.program-missing' -Text 'exited with 2:' -Block {
            Request-ServiceState -Name $name -State 'running'
        }
        Set-ServiceStart -Name $name -StartType 'disabled'
        foreach ($law in 'service.disabled', 'service.start-refused') {
            Confirm-Refusal -Law $law -Text '1058' -Block { Request-ServiceState -Name $name -State 'running' }
        }
    } finally {
        Remove-TestService -Name $name
    }
}

# An empty list stops every start; a list that is gone stops none.
function Test-ServiceEnvironment {
    $name = 'imagegen-real-environment'
    $path = New-TestService -Name $name -Way 'run'
    $value = @{ Key = (Get-ServiceKey -Name $name); Name = 'Environment' }
    try {
        $key = Open-RegistryKey -Key $value.Key -Write
        try { $key.SetValue('Environment', [string[]]@(), 'MultiString') } finally { $key.Close() }
        Confirm-Refusal -Law 'service.empty-environment' -Text '87' -Block {
            Request-ServiceState -Name $name -State 'running'
        }
        Remove-RegistryValue @value
        Wait-ServiceState -Name $name -State 'running'
        Wait-ServiceState -Name $name -State 'stopped'
        Set-RegistryValue @value -Kind 'MultiString' -Data @('A=of the service')
        Wait-ServiceState -Name $name -State 'running'
        $line = @(Read-ServiceLine -Path $path)[-1]
        $holds = $line.EndsWith('|of the service')
        Confirm-Law -Law 'service.environment-reaches-program' -Holds $holds -Detail $line
    } finally {
        Remove-TestService -Name $name
    }
}

# A start of eight seconds: what is asked meanwhile.
function Test-ServicePending {
    $name = 'imagegen-real-slow'
    $null = New-TestService -Name $name -Way 'slow'
    $control = "$env:SystemRoot\System32\sc.exe"
    try {
        Request-ServiceState -Name $name -State 'running'
        $found = Get-ServiceConfig -Name $name
        Confirm-Law -Law 'service.slow' -Holds ($found.state -eq 'start pending') -Detail $found.state
        $null = & $control stop $name
        Confirm-Law -Law 'service.pending-not-stopped' -Holds ($LASTEXITCODE -eq 1061) -Detail $LASTEXITCODE
        $null = & $control start $name
        Confirm-Law -Law 'service.pending-start' -Holds ($LASTEXITCODE -eq 1056) -Detail $LASTEXITCODE
        Wait-ServiceState -Name $name -State 'stopped'
        $found = Get-ServiceConfig -Name $name
        Assert-That -Name 'a service that starts is stopped in the end' -Holds ($found.state -eq 'stopped')
    } finally {
        Remove-TestService -Name $name
    }
}

function Test-ServiceDependency {
    $needed, $needing = 'imagegen-real-needed', 'imagegen-real-needing'
    $null = New-TestService -Name $needed -Way 'run'
    $null = New-TestService -Name $needing -Way 'run'
    try {
        Set-ServiceConfig -Name $needing -Change @{ dependsOn = @($needed) }
        Wait-ServiceState -Name $needing -State 'running'
        $found = Get-ServiceConfig -Name $needed
        Confirm-Law -Law 'service.dependency-starts' -Holds ($found.state -eq 'running') -Detail $found.state
        Wait-ServiceState -Name $needed -State 'stopped'
        $found = Get-ServiceConfig -Name $needing
        Confirm-Law -Law 'service.dependent-stops' -Holds ($found.state -eq 'stopped') -Detail $found.state
    } finally {
        foreach ($name in $needing, $needed) { Remove-TestService -Name $name }
    }
}

# `auto` after `delayed`: what the image's WinRM relies on.
function Test-ServiceStartType {
    $name = 'imagegen-real-start'
    $null = New-TestService -Name $name -Way 'run'
    try {
        $found = foreach ($type in 'delayed', 'auto', 'delayed', 'manual', 'disabled') {
            Set-ServiceStart -Name $name -StartType $type
            $config = Get-ServiceConfig -Name $name
            $config.startType
        }
        $told = @($found) -join ' '
        $holds = $told -eq 'delayed auto delayed manual disabled'
        Assert-That -Name 'each start type comes back' -Holds $holds -Detail $told
        # sc.exe alone, without what Set-ServiceStart does about a mark that stays.
        Set-ServiceStart -Name $name -StartType 'delayed'
        $null = & "$env:SystemRoot\System32\sc.exe" config $name start= auto
        $mark = Get-RegistryValue -Key (Get-ServiceKey -Name $name) -Name 'DelayedAutoStart'
        $holds = $null -eq $mark -or $mark.data -eq 0
        Confirm-Law -Law 'service.auto-ends-delayed' -Holds $holds -Detail $mark
        Set-ServiceStart -Name $name -StartType 'disabled'
        $start = Get-RegistryValue -Key (Get-ServiceKey -Name $name) -Name 'Start'
        Confirm-Law -Law 'service.key' -Holds ($start.data -eq 4) -Detail $start.data
    } finally {
        Remove-TestService -Name $name
    }
}
