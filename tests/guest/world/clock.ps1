# A clock that waits move on: what is waited for is played, so that nobody waits. Loaded by worker.ps1 before
# anything names a stopwatch.

# Stands in for Diagnostics.Stopwatch in every script that is loaded afterwards.
class PlayedStopwatch {
    # Milliseconds by which waits have moved all clocks.
    static [long] $Ahead = 0
    [bool] $IsRunning = $false
    hidden [long] $Since = 0
    hidden [long] $Counted = 0

    static [PlayedStopwatch] StartNew() {
        $clock = [PlayedStopwatch]::new()
        $clock.Start()
        return $clock
    }
    static [long] Now() { return [Environment]::TickCount64 + [PlayedStopwatch]::Ahead }
    [void] Start() {
        if (-not $this.IsRunning) { $this.Since = [PlayedStopwatch]::Now() }
        $this.IsRunning = $true
    }
    [void] Stop() {
        $this.Counted = $this.Count()
        $this.IsRunning = $false
    }
    [void] Reset() {
        $this.Counted = 0
        $this.IsRunning = $false
    }
    [void] Restart() {
        $this.Reset()
        $this.Start()
    }
    [long] Count() {
        if (-not $this.IsRunning) { return $this.Counted }
        return $this.Counted + [PlayedStopwatch]::Now() - $this.Since
    }
}
$elapsed = @{ TypeName = 'PlayedStopwatch'; MemberType = 'ScriptProperty' }
Update-TypeData @elapsed -MemberName 'ElapsedMilliseconds' -Value { $this.Count() }
Update-TypeData @elapsed -MemberName 'ElapsedTicks' -Value { 10000 * $this.Count() }
Update-TypeData @elapsed -MemberName 'Elapsed' -Value { [TimeSpan]::FromMilliseconds($this.Count()) }
$accelerators = [psobject].Assembly.GetType('System.Management.Automation.TypeAccelerators')
$accelerators::Add('Diagnostics.Stopwatch', [PlayedStopwatch])

# A pause of 50 ms looks after programs that really run, each for some milliseconds. Global, because modules do not
# see what their callers have.
$null = New-Item -Path 'function:global:Start-Sleep' -Force -Value {
    [CmdletBinding()]
    param([double] $Seconds = 0, [int] $Milliseconds = 0)
    $pause = $Milliseconds + [long](1000 * $Seconds)
    [PlayedStopwatch]::Ahead += $pause
    if ($pause -le 50) { [Threading.Thread]::Sleep(10) }
}
