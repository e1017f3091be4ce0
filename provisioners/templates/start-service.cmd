@echo off
rem The service {{ item.name }} starts this file, and this file starts {{ item.name }}: at every start with the
rem arguments of the service first and those of {{ item.file }} behind them, so that
rem what the file says wins. What it was started with, and how it ended, stands in start.log of its folder of logs.
setlocal DisableDelayedExpansion
set "name={{ item.name }}"
set "log={{ paths.log }}\{{ item.name }}\start.log"
set "said={{ paths.log }}\{{ item.name }}\said.log"
set "own={{ paths.log }}\{{ item.name }}\{{ item.name }}.log"

rem Before a join and after a reset there is nothing to run.
if not exist "{{ item.ready }}" exit 0
{%- for link in item.links %}

rem A reset empties the folder in which this version finds the cluster's certificate through a link.
if not exist "{{ link.path }}" (
    mkdir "{{ link.folder }}" 2>nul
    mklink /d "{{ link.path }}" "{{ link.target }}" >nul 2>&1
)
{%- endfor %}

rem Pods may write into the folder of logs: where a link is in the place of a log, nothing is written through it.
dir /b /al "%own%" >nul 2>&1
if not errorlevel 1 goto linked
dir /b /al "%log%" >nul 2>&1
if not errorlevel 1 set "log=nul"
dir /b /al "%said%" >nul 2>&1
if not errorlevel 1 set "said=nul"

rem One line, NAME="value", as Go quotes it. Quotation marks in it are those of templates for Linux, where systemd takes
rem them away: the program would get them as a part of the value. A byte order mark, blanks or `export` may stand before
rem the name.
set "key="
set "more= "
if exist "{{ item.file }}" for /f "usebackq eol=# tokens=1* delims==" %%a in ("{{ item.file }}") do if not defined key set "key=%%a"& set "more= %%~b"
if defined key set "key=%key:"=%"
if defined key set "key=%key:*{{ item.variable }}={{ item.variable }}%"
if not "%key%"=="{{ item.variable }}" set "more= "
if not "%key%"=="{{ item.variable }}" if exist "{{ item.file }}" echo %date% %time% no {{ item.variable }} in {{ item.file }}>>"%log%"
set "more=%more:\"=%"
set "more=%more:"=%"
set "more=%more:'=%"
set "more=%more:\\=\%"

rem With an external cloud provider the kubelet adds a taint by itself, and the cluster registers no node that has it twice.
set "gone= "
set "cloud=%more:*--cloud-provider=%"
if "%cloud:~0,9%"=="=external" set "gone=%gone%node.cloudprovider.kubernetes.io/uninitialized "

rem The program may be newer than the image.
set "minor=0"
for /f "tokens=2 delims=." %%v in ('{{ paths.kubernetes }}\{{ item.name }}.exe --version') do set "minor=%%v"

rem One reader for all words: first those of the service, then those of the file, whose pause image is that of Linux. A
rem program that keeps the log comes first, and what stands before {{ item.name }}.exe is its own. A value stands in
rem percent signs only between quotation marks, where cmd.exe takes none of its characters.
set "program="
set "arguments="
set "judged="
set "rest=%* / %more%"
:next
set "word="
for /f "eol= tokens=1*" %%a in ("%rest%") do (
    set "word=%%a"
    set "rest=%%b"
)
if not defined word goto start
if "%word%"=="/" set "gone=%gone%--pod-infra-container-image "& goto next
if not defined judged goto add
set "list="
for /f "eol= tokens=1* delims==" %%a in ("%word%") do (
    set "flag=%%a"
    set "list=%%b"
)
set "key=%flag%"
call :judge
if not defined has echo %date% %time% left out "%flag%">>"%log%"& goto next
if not "%flag%"=="--feature-gates" if not "%flag%"=="--register-with-taints" goto add
if not defined list goto add

rem One gate or taint that the program refuses would end it, or keep the node out: the others of the list stay.
set "kept="
:member
set "member="
for /f "eol= tokens=1* delims=," %%a in ("%list%") do (
    set "member=%%a"
    set "list=%%b"
)
if not defined member goto add
for /f "eol= delims==:" %%a in ("%member%") do set "key=%%a"
call :judge
if defined has set "kept=%kept%,%member%"
if not defined has echo %date% %time% left out "%flag%" "%member%">>"%log%"
if defined list goto member
if not defined kept goto next
set "word=%flag%=%kept:~1%"
:add
if defined program set "arguments=%arguments% %word%"
if not defined program set "program=%word%"
for /f "delims=" %%a in ("%word%") do if /i "%%~nxa"=="{{ item.name }}.exe" set "judged=1"
goto next

:start
setlocal EnableDelayedExpansion
rem One block, which cmd.exe reads as a whole: a file that an upgrade replaces meanwhile is not read on from the middle.
(
    echo !date! !time! start !program!!arguments!>>"%log%"
    "!program!" !arguments!{% if item.logsItself and ("template-tools" in components or not "nssm" in components) %} >"%said%" 2>&1{% endif %}
    set "code=!errorlevel!"
    dir /b /al "%log%" >nul 2>&1
    if not errorlevel 1 set "log=nul"
    dir /b /al "%said%" >nul 2>&1
    if not errorlevel 1 set "said=nul"
    echo !date! !time! end !code!>>"!log!"
    if "!code!"=="0" exit 0
{%- if item.logsItself and ("template-tools" in components or not "nssm" in components) %}
    type "!said!" >>"!log!"
{%- endif %}
    eventcreate.exe /t error /id 1 /l application /so imagegen /d "%name% ended with !code!: see {{ paths.log }}\{{ item.name }}"
    exit !code!
)

rem Flags and feature gates that the program no longer knows, by the last minor version that has them.
:judge
set "has=1"
for %%g in (%gone%) do if "%%g"=="%key%" set "has="
{%- for group in item.removed %}
if %minor% GTR {{ group.minor }} for %%g in ({{ group.names }}) do if "%%g"=="%key%" set "has="
{%- endfor %}
exit /b

rem The program would write through it, too.
:linked
eventcreate.exe /t error /id 1 /l application /so imagegen /d "%name% does not start: a link is in the place of %own%"
exit 1
