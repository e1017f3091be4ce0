<#
.SYNOPSIS
    Answers every HTTP request on port 80 with the name of the pod.
.EXAMPLE
    Start-WebServer.ps1
#>
[CmdletBinding()]
param()

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

$listener = [Net.HttpListener]::new()
$listener.Prefixes.Add('http://*:80/')
$listener.Start()
Write-Output -InputObject 'listening on port 80'
while ($listener.IsListening) {
    $context = $listener.GetContext()
    $client = $context.Request.RemoteEndPoint.Address
    $body = [Text.Encoding]::UTF8.GetBytes("Hello from $env:COMPUTERNAME to $client`n")
    $context.Response.ContentType = 'text/plain; charset=utf-8'
    $context.Response.ContentLength64 = $body.Length
    $context.Response.OutputStream.Write($body, 0, $body.Length)
    $context.Response.Close()
    Write-Output -InputObject "$($context.Request.HttpMethod) $($context.Request.Url)"
}
