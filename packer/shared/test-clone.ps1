# Runs on a machine that `imagegen test-clone` made from the image; the names in braces are folders of the
# node. The first start takes some minutes, so a difference counts if it stays. Scripts that have to be signed are
# refused with exit code 2 under any other policy than AllSigned. Progress would be text of the standard error. The
# clock of a machine that has just started is set meanwhile, so no time of day is waited for.
$code = 1
$ProgressPreference = 'SilentlyContinue'
$lines = @()
$policy = 'Bypass'
$clock = [Diagnostics.Stopwatch]::StartNew()
do {
    $lines = @(& powershell.exe -NoProfile -NonInteractive -ExecutionPolicy $policy -File '{node}\Test-Node.ps1')
    $code = $LASTEXITCODE
    if ($code -eq 0) { break }
    if ($code -eq 2) { $policy = 'AllSigned' }
    Start-Sleep -Seconds 15
} while ($clock.Elapsed.TotalMinutes -lt 15)
$log = '{state}\errors.log'
$reasons = @()
if ([IO.File]::Exists($log)) { $reasons = @([IO.File]::ReadAllLines($log) -match 'Initialize-Clone: ') }
if ($code -eq 0 -and $reasons.Count -gt 0) { $code = 1 }
@($lines) + $reasons | Select-Object -Last 30
'imagegen-clone-test=' + $code
exit $code
