@echo off
rem Windows runs this once, as SYSTEM, when the set-up of the first boot has ended. Its steps do not depend on each
rem other; only what keeps the build's ways in open keeps the clone from its join.
set log={{ paths.state }}\firstboot.log
echo %date% %time% %~f0 >> %log%
netsh.exe advfirewall firewall delete rule name=all dir=in protocol=TCP localport={{ target.winrmPort }} >> %log% 2>&1
del /f /q C:\Windows\Temp\packer-* C:\Windows\Temp\script-*.ps1 >> %log% 2>&1
powershell.exe -NoProfile -NonInteractive -ExecutionPolicy {{ scripts.executionPolicy }} -File {{ paths.node }}\Initialize-Clone.ps1 >> %log% 2>&1
if not %errorlevel%==0 eventcreate.exe /t error /id 1 /l application /so imagegen /d "First boot failed, so this node does not join: see %log%" >> %log% 2>&1 & exit /b 1
sc.exe config cloudbase-init start= auto >> %log% 2>&1
sc.exe start cloudbase-init >> %log% 2>&1
