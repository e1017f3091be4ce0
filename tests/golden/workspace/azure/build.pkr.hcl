build {
  name    = "imagegen"
  sources = ["source.azure-arm.node"]

  # The only upload over WinRM: engine, resource scripts and plan. The engine downloads the rest.
  provisioner "file" {
    source      = "${path.root}/payload.zip"
    destination = "C:/Windows/Temp/imagegen-payload.zip"
    timeout     = "15m"
  }

  # skip_clean: Packer's own clean-up costs 19 requests per script; the last stage removes all scripts.
  provisioner "powershell" {
    environment_vars = ["IMAGEGEN_PAYLOAD_SHA256=${var.payload_sha256}"]

    skip_clean = true
    timeout    = "4h"
    inline = [<<-SCRIPT
      $ErrorActionPreference = 'Stop'
      $ProgressPreference = 'SilentlyContinue'
      $payload = 'C:\Windows\Temp\imagegen-payload.zip'
      $digest = (Get-FileHash -LiteralPath $payload -Algorithm SHA256 -ErrorAction Stop).Hash
      if ($digest -ne $env:IMAGEGEN_PAYLOAD_SHA256) {
          throw "digest of $payload is $digest, expected is $env:IMAGEGEN_PAYLOAD_SHA256"
      }
      Add-Type -AssemblyName 'System.IO.Compression'
      Add-Type -AssemblyName 'System.IO.Compression.FileSystem'
      $archive = [IO.Compression.ZipFile]::OpenRead($payload)
      try {
          foreach ($entry in $archive.Entries) {
              $path = [IO.Path]::GetFullPath("C:\imagegen\$($entry.FullName)")
              [void][IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($path))
              [IO.Compression.ZipFileExtensions]::ExtractToFile($entry, $path, $true)
          }
      } finally {
          $archive.Dispose()
      }
      Remove-Item -LiteralPath $payload
      & 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase 'bootstrap'
      if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
      & 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase 'prepare'
      if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
      exit 0
      SCRIPT
    ]
  }

  provisioner "windows-restart" {
    restart_timeout = "1h"
    timeout         = "75m"
  }

  provisioner "powershell" {
    skip_clean = true
    timeout    = "4h"
    inline = [<<-SCRIPT
      $ErrorActionPreference = 'Stop'
      $ProgressPreference = 'SilentlyContinue'
      & 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase 'prepare'
      if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
      & 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase 'install'
      if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
      exit 0
      SCRIPT
    ]
  }

  provisioner "windows-restart" {
    restart_timeout = "1h"
    timeout         = "75m"
  }

  provisioner "powershell" {
    skip_clean = true
    timeout    = "4h"
    inline = [<<-SCRIPT
      $ErrorActionPreference = 'Stop'
      $ProgressPreference = 'SilentlyContinue'
      & 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase 'test' -Mode 'test' -ReportOnly
      if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
      exit 0
      SCRIPT
    ]
  }

  # The engine writes the report and exits with 0 even if checks failed, so that it can be downloaded.
  # Phase `seal` refuses to run after failed checks.
  provisioner "file" {
    direction   = "download"
    source      = "C:/imagegen/check-report.json"
    destination = "${path.root}/check-report.json"
    timeout     = "15m"
  }

  provisioner "powershell" {
    skip_clean = true
    timeout    = "4h"
    inline = [<<-SCRIPT
      $ErrorActionPreference = 'Stop'
      $ProgressPreference = 'SilentlyContinue'
      Remove-Item -Path 'C:\Windows\Temp\packer-*', 'C:\Windows\Temp\script-*' -Force
      & 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase 'seal'
      if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
      exit 0
      SCRIPT
    ]
  }

  post-processor "manifest" {
    output      = "${path.root}/packer-manifest.json"
    strip_path  = true
    custom_data = var.image_tags
  }
}
