// Calls of Windows that the guest's abilities end in, one per run: `native.exe CALL ARGUMENT…`. Prints one line: the
// error code of the call (0 is success), or what was read. Built by tests/wine.rs.
#define WIN32_LEAN_AND_MEAN
#define UNICODE
#define _UNICODE
#include <windows.h>
#include <shellapi.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

static WCHAR **words;
static int count;
static SERVICE_STATUS_HANDLE handle;
static SERVICE_STATUS status = {.dwServiceType = SERVICE_WIN32_OWN_PROCESS};
static HANDLE ended;

static const WCHAR *word(int index) { return index < count ? words[index] : L""; }

static void print_text(const WCHAR *text) {
    char bytes[8192];
    WideCharToMultiByte(CP_UTF8, 0, text, -1, bytes, sizeof bytes, NULL, NULL);
    fputs(bytes, stdout);
}

static void print_words(WCHAR **list, int number) {
    for (int i = 0; i < number; i++) {
        if (i > 0) putchar(1);
        print_text(list[i]);
    }
    putchar('\n');
}

static int report(BOOL success) {
    DWORD code = success ? 0 : GetLastError();
    printf("%lu\n", code);
    return 0;
}

// The lines of a file, each split as a program's command line is.
static int split_lines(void) {
    FILE *file = _wfopen(word(2), L"rb");
    char line[4096];
    WCHAR wide[4096];
    while (file && fgets(line, sizeof line, file)) {
        int number;
        line[strcspn(line, "\r\n")] = 0;
        MultiByteToWideChar(CP_UTF8, 0, line, -1, wide, 4096);
        WCHAR **list = CommandLineToArgvW(wide, &number);
        // The first word has rules of its own: it is the program.
        print_words(list + 1, number - 1);
    }
    return 0;
}

// A line of a file as a process, which .NET starts with the same call.
static int run_line(void) {
    FILE *file = _wfopen(word(2), L"rb");
    char line[4096] = "";
    WCHAR wide[4096];
    DWORD code = 0;
    STARTUPINFOW start = {.cb = sizeof start};
    PROCESS_INFORMATION made;
    fread(line, 1, sizeof line - 1, file);
    MultiByteToWideChar(CP_UTF8, 0, line, -1, wide, 4096);
    if (!CreateProcessW(NULL, wide, NULL, NULL, TRUE, 0, NULL, NULL, &start, &made)) return report(FALSE);
    WaitForSingleObject(made.hProcess, INFINITE);
    GetExitCodeProcess(made.hProcess, &code);
    return (int)code;
}

// Files: what Move-File, [IO.File]::Copy, Delete and Open of the engine end in.
static int move_file(void) {
    return report(MoveFileExW(word(2), word(3), MOVEFILE_REPLACE_EXISTING | MOVEFILE_COPY_ALLOWED | MOVEFILE_WRITE_THROUGH));
}

static int write_file(void) {
    HANDLE open = CreateFileW(word(2), GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0, NULL);
    return report(open != INVALID_HANDLE_VALUE);
}

// A value of the registry below HKLM: the kind's number and its bytes in hex; `-` has none.
static int set_value(void) {
    HKEY key;
    BYTE bytes[1024];
    DWORD length = 0;
    const WCHAR *hex = word(5);
    for (; hex[0] && hex[1]; hex += 2) {
        unsigned byte;
        swscanf(hex, L"%2x", &byte);
        bytes[length++] = (BYTE)byte;
    }
    LSTATUS code = RegCreateKeyExW(HKEY_LOCAL_MACHINE, word(2), 0, NULL, 0, KEY_ALL_ACCESS | KEY_WOW64_64KEY, NULL, &key, NULL);
    if (!code) code = RegSetValueExW(key, word(3), 0, _wtoi(word(4)), bytes, length);
    SetLastError(code);
    return report(!code);
}

static SC_HANDLE open_service(void) {
    SC_HANDLE manager = OpenSCManagerW(NULL, NULL, SC_MANAGER_ALL_ACCESS);
    return OpenServiceW(manager, word(2), SERVICE_ALL_ACCESS);
}

static int start_service(void) {
    SC_HANDLE service = open_service();
    return report(service && StartServiceW(service, 0, NULL));
}

static int stop_service(void) {
    SERVICE_STATUS found;
    SC_HANDLE service = open_service();
    return report(service && ControlService(service, SERVICE_CONTROL_STOP, &found));
}

static int create_service(void) {
    SC_HANDLE manager = OpenSCManagerW(NULL, NULL, SC_MANAGER_ALL_ACCESS);
    return report(CreateServiceW(manager, word(2), word(2), SERVICE_ALL_ACCESS, SERVICE_WIN32_OWN_PROCESS,
        SERVICE_DEMAND_START, SERVICE_ERROR_NORMAL, word(3), NULL, NULL, NULL, NULL, NULL) != NULL);
}

// Start type by its number, and a service that it depends on.
static int configure_service(void) {
    WCHAR needs[256] = {0};
    SC_HANDLE service = open_service();
    wcsncpy(needs, word(4), 254);
    return report(service && ChangeServiceConfigW(service, SERVICE_NO_CHANGE, _wtoi(word(3)), SERVICE_NO_CHANGE, NULL,
        NULL, NULL, needs[0] ? needs : NULL, NULL, NULL, NULL));
}

static int delete_service(void) {
    SC_HANDLE service = open_service();
    return report(service && DeleteService(service));
}

// State, exit code and exit code of the service's own.
static int query_service(void) {
    SERVICE_STATUS found;
    SC_HANDLE service = open_service();
    if (!service || !QueryServiceStatus(service, &found)) return report(FALSE);
    printf("%lu %lu %lu\n", found.dwCurrentState, found.dwWin32ExitCode, found.dwServiceSpecificExitCode);
    return 0;
}

static void set_status(DWORD state) {
    status.dwCurrentState = state;
    status.dwControlsAccepted = state == SERVICE_RUNNING ? SERVICE_ACCEPT_STOP : 0;
    SetServiceStatus(handle, &status);
}

static DWORD WINAPI handle_control(DWORD control, DWORD type, void *data, void *context) {
    (void)type, (void)data, (void)context;
    if (control == SERVICE_CONTROL_STOP) {
        set_status(SERVICE_STOP_PENDING);
        SetEvent(ended);
    }
    return NO_ERROR;
}

// A service: `serve FILE WAY…`. It writes its words and its variable A to the file. The way `pending` never says that
// it runs, and `fails` ends with the code 42 of its own.
static void WINAPI serve(DWORD number, WCHAR **given) {
    FILE *file = _wfopen(word(2), L"w");
    WCHAR variable[256] = L"none";
    (void)number, (void)given;
    GetEnvironmentVariableW(L"A", variable, 256);
    for (int i = 3; i < count; i++) fprintf(file, "%ls\001", word(i));
    fprintf(file, "%ls", variable);
    fclose(file);
    ended = CreateEventW(NULL, TRUE, FALSE, NULL);
    handle = RegisterServiceCtrlHandlerExW(L"", handle_control, NULL);
    set_status(SERVICE_START_PENDING);
    if (!wcscmp(word(3), L"pending")) Sleep(INFINITE);
    set_status(SERVICE_RUNNING);
    if (wcscmp(word(3), L"fails")) {
        WaitForSingleObject(ended, INFINITE);
    } else {
        status.dwWin32ExitCode = ERROR_SERVICE_SPECIFIC_ERROR;
        status.dwServiceSpecificExitCode = 42;
    }
    set_status(SERVICE_STOPPED);
}

static int serve_service(void) {
    SERVICE_TABLE_ENTRYW table[] = {{L"", serve}, {NULL, NULL}};
    return !StartServiceCtrlDispatcherW(table);
}

int main(void) {
    words = CommandLineToArgvW(GetCommandLineW(), &count);
    const WCHAR *call = word(1);
    // Under the name of PowerShell it ends with the code that a file holds.
    if (wcsstr(words[0], L"powershell")) {
        int code = 0;
        FILE *file = _wfopen(L"C:\\exit-code.txt", L"r");
        return file && fscanf(file, "%d", &code) == 1 ? code : 0;
    }
    if (!wcscmp(call, L"words")) return print_words(words + 2, count - 2), 0;
    if (!wcscmp(call, L"exit")) return _wtoi(word(2));
    if (!wcscmp(call, L"split")) return split_lines();
    if (!wcscmp(call, L"run")) return run_line();
    if (!wcscmp(call, L"move")) return move_file();
    if (!wcscmp(call, L"copy")) return report(CopyFileW(word(2), word(3), FALSE));
    if (!wcscmp(call, L"delete")) return report(DeleteFileW(word(2)));
    if (!wcscmp(call, L"write")) return write_file();
    if (!wcscmp(call, L"attributes")) return printf("%lu\n", GetFileAttributesW(word(2))), 0;
    if (!wcscmp(call, L"set-value")) return set_value();
    if (!wcscmp(call, L"create-service")) return create_service();
    if (!wcscmp(call, L"configure-service")) return configure_service();
    if (!wcscmp(call, L"delete-service")) return delete_service();
    if (!wcscmp(call, L"start-service")) return start_service();
    if (!wcscmp(call, L"stop-service")) return stop_service();
    if (!wcscmp(call, L"query-service")) return query_service();
    if (!wcscmp(call, L"serve")) return serve_service();
    // Wine ends its services with the last program.
    if (!wcscmp(call, L"wait")) return getchar();
    return 2;
}
