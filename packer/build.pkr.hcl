build {
  name    = "imagegen"
  sources = ["source.{{ target.builder }}.node"]

  # The only upload over WinRM: engine, resource scripts and plan. The engine downloads the rest.
  provisioner "file" {
    source      = "${path.root}/payload.zip"
    destination = "C:/Windows/Temp/imagegen-payload.zip"
    timeout     = "15m"
  }

  # skip_clean: Packer's own clean-up costs 19 requests per script; the last stage removes all scripts.
  #{% for stage in stages %}
  provisioner "powershell" {
    #{% if stage.unpacks %}
    environment_vars = ["IMAGEGEN_PAYLOAD_SHA256=${var.payload_sha256}"]

    #{% endif %}
    skip_clean = true
    timeout    = "4h"
    inline = [<<-SCRIPT
      $ErrorActionPreference = 'Stop'
      $ProgressPreference = 'SilentlyContinue'
      #{% if stage.unpacks %}
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
      #{% if uses.signed_scripts %}
      # The engine starts only if Windows trusts its signer; the plan has the certificates.
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
      #{% endif %}
      #{% endif %}
      #{% if stage.removes_scripts %}
      Remove-Item -Path 'C:\Windows\Temp\packer-*', 'C:\Windows\Temp\script-*' -Force
      #{% endif %}
      #{% if uses.signed_scripts %}
      $run = @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'AllSigned', '-File')
      #{% endif %}
      #{% for phase in stage.phases %}
      #{% if uses.signed_scripts %}
      #{% if stage.reports %}
      & "$PSHOME\powershell.exe" @run 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase '{{ phase }}' -Mode 'test' -ReportOnly
      #{% else %}
      & "$PSHOME\powershell.exe" @run 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase '{{ phase }}'
      #{% endif %}
      #{% else %}
      #{% if stage.reports %}
      & 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase '{{ phase }}' -Mode 'test' -ReportOnly
      #{% else %}
      & 'C:\imagegen\engine\Invoke-Plan.ps1' -Phase '{{ phase }}'
      #{% endif %}
      #{% endif %}
      if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
      #{% endfor %}
      exit 0
      SCRIPT
    ]
  }

  #{% if stage.restarts %}
  provisioner "windows-restart" {
    restart_timeout = "1h"
    timeout         = "75m"
  }

  #{% endif %}
  #{% if stage.reports %}
  # The engine writes the report and exits with 0 even if checks failed, so that it can be downloaded.
  # Phase `seal` refuses to run after failed checks.
  provisioner "file" {
    direction   = "download"
    source      = "C:/imagegen/check-report.json"
    destination = "${path.root}/check-report.json"
    timeout     = "15m"
  }

  #{% endif %}
  #{% endfor %}
  post-processor "manifest" {
    output      = "${path.root}/packer-manifest.json"
    strip_path  = true
    custom_data = var.image_tags
  }
}
