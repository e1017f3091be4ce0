build {
  name    = "imagegen"
  sources = ["source.{{ target.builder }}.node"]

  # Everything that goes up over WinRM: engine, resources and plan. The engine fetches the rest.
  provisioner "file" {
    source      = "${path.root}/payload.zip"
    destination = "C:/Windows/Temp/imagegen-payload.zip"
    timeout     = "15m"
  }

  # skip_clean: Packer's own clean-up costs 19 requests for each script; the last one removes them all.
  provisioner "powershell" {
    environment_vars = ["IMAGEGEN_PAYLOAD_SHA256=${var.payload_sha256}"]
    skip_clean       = true
    timeout          = "2h"
    inline = [<<-SCRIPT
      $ErrorActionPreference = 'Stop'
      $ProgressPreference = 'SilentlyContinue'
      $payload = 'C:\Windows\Temp\imagegen-payload.zip'
      $digest = (Get-FileHash -LiteralPath $payload -Algorithm SHA256 -ErrorAction Stop).Hash
      if ($digest -ne $env:IMAGEGEN_PAYLOAD_SHA256) {
          throw "digest of $payload is $digest, expected is $env:IMAGEGEN_PAYLOAD_SHA256"
      }
      # Expand-Archive draws progress, which fails over SSH and is slow over WinRM.
      Add-Type -AssemblyName 'System.IO.Compression.FileSystem'
      if (Test-Path -LiteralPath 'C:\imagegen') { Remove-Item -LiteralPath 'C:\imagegen' -Recurse -Force }
      [IO.Compression.ZipFile]::ExtractToDirectory($payload, 'C:\imagegen')
      Remove-Item -LiteralPath $payload
      #{% if uses.signed_scripts %}
      # The engine starts only where its signer is trusted; the plan says by which certificates.
      $plan = [IO.File]::ReadAllText('C:\imagegen\guest-plan.json') | ConvertFrom-Json
      $types = 'Security.Cryptography.X509Certificates'
      foreach ($resource in @($plan.resources | Where-Object { $_.type -eq 'certificate' })) {
          $bytes = [Convert]::FromBase64String($resource.properties.content)
          $certificate = New-Object -TypeName "$types.X509Certificate2" -ArgumentList (, $bytes)
          $store = New-Object -TypeName "$types.X509Store" -ArgumentList $resource.properties.store, 'LocalMachine'
          $store.Open('ReadWrite')
          $store.Add($certificate)
          $store.Close()
      }
      $run = @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'AllSigned', '-File')
      $run += 'C:\imagegen\engine\Invoke-Plan.ps1'
      & "$PSHOME\powershell.exe" @run -Phase 'bootstrap'
      if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
      & "$PSHOME\powershell.exe" @run -Phase 'prepare'
      #{% else %}
      & 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase 'bootstrap'
      if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
      & 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase 'prepare'
      #{% endif %}
      exit $LASTEXITCODE
      SCRIPT
    ]
  }

  provisioner "windows-restart" {
    restart_timeout = "30m"
    timeout         = "45m"
  }

  #{% if uses.updates %}
  # Windows Update offers more after each restart: two more rounds, of which the checks say whether they were enough.
  #{% for round in [1, 2] %}
  provisioner "powershell" {
    skip_clean = true
    timeout    = "2h"
    inline = [<<-SCRIPT
      $ErrorActionPreference = 'Stop'
      #{% if uses.signed_scripts %}
      $run = @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'AllSigned', '-File')
      & "$PSHOME\powershell.exe" @run 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase 'prepare'
      #{% else %}
      & 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase 'prepare'
      #{% endif %}
      exit $LASTEXITCODE
      SCRIPT
    ]
  }

  provisioner "windows-restart" {
    restart_timeout = "30m"
    timeout         = "45m"
  }

  #{% endfor %}
  #{% endif %}

  provisioner "powershell" {
    skip_clean = true
    timeout    = "2h"
    inline = [<<-SCRIPT
      $ErrorActionPreference = 'Stop'
      #{% if uses.signed_scripts %}
      $run = @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'AllSigned', '-File')
      & "$PSHOME\powershell.exe" @run 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase 'install'
      #{% else %}
      & 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase 'install'
      #{% endif %}
      exit $LASTEXITCODE
      SCRIPT
    ]
  }

  provisioner "windows-restart" {
    restart_timeout = "30m"
    timeout         = "45m"
  }

  # Writes its report and ends with 0 also when checks failed, so that the report is there to be fetched.
  provisioner "powershell" {
    skip_clean = true
    timeout    = "1h"
    inline = [<<-SCRIPT
      $ErrorActionPreference = 'Stop'
      #{% if uses.signed_scripts %}
      $run = @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'AllSigned', '-File')
      & "$PSHOME\powershell.exe" @run 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase 'test' -Mode 'test' -ReportOnly
      #{% else %}
      & 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase 'test' -Mode 'test' -ReportOnly
      #{% endif %}
      exit $LASTEXITCODE
      SCRIPT
    ]
  }

  provisioner "file" {
    direction   = "download"
    source      = "C:/imagegen/check-report.json"
    destination = "${path.root}/check-report.json"
    timeout     = "15m"
  }

  # Refuses when the report says that checks failed. Nothing comes after it: it takes the listener away.
  provisioner "powershell" {
    skip_clean = true
    timeout    = "1h"
    inline = [<<-SCRIPT
      $ErrorActionPreference = 'Stop'
      Remove-Item -Path 'C:\Windows\Temp\packer-*', 'C:\Windows\Temp\script-*' -Force
      #{% if uses.signed_scripts %}
      $run = @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'AllSigned', '-File')
      & "$PSHOME\powershell.exe" @run 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase 'seal'
      #{% else %}
      & 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase 'seal'
      #{% endif %}
      exit $LASTEXITCODE
      SCRIPT
    ]
  }

  post-processor "manifest" {
    output     = "${path.root}/packer-manifest.json"
    strip_path = true
  }
}
