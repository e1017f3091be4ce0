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
set "more="
set "key="
set "first="
if exist "{{ item.file }}" for /f "usebackq tokens=1* delims==" %%a in ("{{ item.file }}") do (
    if not defined first set "first=%%a"& set "more=%%~b"
    if "%%a"=="{{ item.variable }}" set "key=%%a"& set "more=%%~b"
)
if not defined key if defined first set "key=%first:"=%"
if defined key set "key=%key:*{{ item.variable }}={{ item.variable }}%"
if not "%key%"=="{{ item.variable }}" set "more="
if exist "{{ item.file }}" if not "%key%"=="{{ item.variable }}" echo %date% %time% no {{ item.variable }} in {{ item.file }}>>"%log%"
if defined more set "more=%more:\"=%"
if defined more set "more=%more:"=%"
if defined more set "more=%more:'=%"
if defined more set "more=%more:\\=\%"

rem Flags that the program no longer knows, by the last minor version that has them: it may be newer than the image.
set "minor=0"
for /f "tokens=2 delims=." %%v in ('{{ paths.kubernetes }}\{{ item.name }}.exe --version') do set "minor=%%v"
set "gone= "
{%- for group in item.removed %}
if %minor% GTR {{ group.minor }} set "gone=%gone%{{ group.flags }} "
{%- endfor %}

rem A value stands in percent signs only between quotation marks, where cmd.exe takes none of its characters.
rem The cloud provider may stand behind the taints: kubeadm writes arguments of its own before a template's.
set "cloud="
set "rest=%* %more%"
:look
set "word="
for /f "tokens=1*" %%a in ("%rest%") do (
    set "word=%%a"
    set "rest=%%b"
)
if not defined word goto looked
if "%word:~0,17%"=="--cloud-provider=" set "cloud=%word%"
if defined rest goto look

:looked
rem A program that keeps the log comes first, and what stands before {{ item.name }}.exe is its own: it has flags that
rem {{ item.name }} lost.
set "rest=%*"
for /f "tokens=1*" %%a in ("%rest%") do (
    set "program=%%a"
    set "rest=%%b"
)
set "judged="
for /f "delims=" %%a in ("%program%") do if /i "%%~nxa"=="{{ item.name }}.exe" set "judged=1"
set "arguments="
set "lost="
:next
if not defined rest goto file
set "word="
for /f "tokens=1*" %%a in ("%rest%") do (
    set "word=%%a"
    set "rest=%%b"
)
rem Blanks alone are no word, and are no shorter afterwards.
if not defined word set "rest="& goto next
if not defined judged goto runner
rem The value of a flag that was left out may be a word of its own.
if defined lost if not "%word:~0,1%"=="-" echo %date% %time% left out "%word%">>"%log%"& set "lost="& goto next
set "lost="
for /f "delims==" %%a in ("%word%") do set "flag=%%a"
set "keep=1"
for %%g in (%gone%) do if "%%g"=="%flag%" set "keep="
if "%flag%"=="--feature-gates" if not "%word%"=="%flag%" goto gates
if "%flag%"=="--register-with-taints" if "%cloud%"=="--cloud-provider=external" goto taints
:add
if defined keep set "arguments=%arguments% %word%"
if not defined keep echo %date% %time% left out "%flag%">>"%log%"
if not defined keep if "%flag%"=="%word%" set "lost=1"
goto next

rem A word of the program that keeps the log.
:runner
set "arguments=%arguments% %word%"
for /f "delims=" %%a in ("%word%") do if /i "%%~nxa"=="{{ item.name }}.exe" set "judged=1"
goto next

rem Feature gates that the program no longer knows, by the last minor version that has them: one of them ends it.
:gates
set "list=%word:*--feature-gates=%"
set "list=%list:~1%"
if not defined list goto add
set "gates="
:gate
set "gate="
for /f "tokens=1* delims=," %%a in ("%list%") do (
    set "gate=%%a"
    set "list=%%b"
)
rem The program judges a list that is none.
if not defined gate set "gates=%gates%,%list%"& goto gated
set "key="
for /f "delims==" %%a in ("%gate%") do set "key=%%a"
set "has=1"
{%- for group in item.removedGates %}
if %minor% GTR {{ group.minor }} for %%g in ({{ group.gates }}) do if "%%g"=="%key%" set "has="
{%- endfor %}
if defined has set "gates=%gates%,%gate%"
if not defined has echo %date% %time% left out "%flag%" "%gate%">>"%log%"
if defined list goto gate
:gated
if defined gates set "word=%flag%=%gates:~1%"
if not defined gates set "keep="
goto add

rem With an external cloud provider the kubelet adds a taint by itself, and the cluster registers no node that has it
rem twice: the one of the arguments is left out.
:taints
set "list=%word:*with-taints=%"
set "list=%list:~1%"
if not defined list goto add
set "taints="
:taint
set "taint="
for /f "tokens=1* delims=," %%a in ("%list%") do (
    set "taint=%%a"
    set "list=%%b"
)
if not defined taint set "taints=%taints%,%list%"& goto tainted
for /f "delims==:" %%a in ("%taint%") do set "key=%%a"
set "effect=%taint:~-11%"
if not "%key%%effect%"=="node.cloudprovider.kubernetes.io/uninitialized:NoSchedule" set "taints=%taints%,%taint%"
if defined list goto taint
:tainted
if defined taints set "word=%flag%=%taints:~1%"
if not defined taints set "keep="
goto add

rem The pause image is the image's own: the cluster names that of Linux.
:file
if not defined more goto start
set "rest=%more%"
set "more="
set "lost="
set "judged=1"
set "gone=%gone%--pod-infra-container-image "
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

rem The program would write through it, too.
:linked
eventcreate.exe /t error /id 1 /l application /so imagegen /d "%name% does not start: a link is in the place of %own%"
exit 1
