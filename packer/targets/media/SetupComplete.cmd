@echo off
rem Windows Setup runs this as SYSTEM when it is done, and ignores its exit code. The task starts some minutes later,
rem when Setup has ended, and runs what lies in the folder as SYSTEM: before that only SYSTEM and administrators may
rem write there. A restart within these minutes would lose it, so it starts after each start of Windows, too
rem (https://learn.microsoft.com/windows/win32/taskschd/registrationtrigger-delay). It has the name of the task that
rem Install.ps1 registers for its own restarts and removes at its end.
rem Signed scripts run under the policy AllSigned alone, which the task takes where the disc brings the certificates of
rem their signer: nobody is there who could trust them. The name of each begins with its store
rem (https://learn.microsoft.com/windows-server/administration/windows-commands/certutil).
set log=C:\Windows\Temp\imagegen-disc.log
icacls.exe C:\imagegen-disc /inheritance:r /grant:r *S-1-5-18:(OI)(CI)F *S-1-5-32-544:(OI)(CI)F >> %log% 2>&1
if not %errorlevel%==0 goto failed
for %%f in (C:\imagegen-disc\certificates\Root-*.cer) do certutil.exe -f -addstore Root "%%f" >> %log% 2>&1
for %%f in (C:\imagegen-disc\certificates\CA-*.cer) do certutil.exe -f -addstore CA "%%f" >> %log% 2>&1
for %%f in (C:\imagegen-disc\certificates\TrustedPublisher-*.cer) do certutil.exe -f -addstore TrustedPublisher "%%f" >> %log% 2>&1
schtasks.exe /create /tn imagegen-install /xml C:\imagegen-disc\install-task.xml /f >> %log% 2>&1
if %errorlevel%==0 exit /b 0
:failed
eventcreate.exe /t error /id 1 /l application /so imagegen /d "This machine does not become a node: see %log%" >> %log% 2>&1
exit /b 0
