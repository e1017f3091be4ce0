@echo off
rem Windows Setup runs this as SYSTEM when it is done. The task starts some minutes later, when Setup has ended.
schtasks.exe /create /tn "imagegen disc" /xml C:\imagegen-disc\install-task.xml /f >> C:\Windows\Temp\imagegen-disc.log 2>&1
exit /b 0
