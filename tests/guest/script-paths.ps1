# Scripts of a payload, as a plan names them. Loaded by run.ps1 and real.ps1.

# Scripts below a folder of provisioners or of a payload, as a plan names them.
function Get-ScriptPath {
    param([string] $Root, [string] $Folder)
    foreach ($item in Get-ChildItem -LiteralPath "$Root/$Folder") {
        $name = "$Folder/$($item.Name)"
        if ($item.PSIsContainer) {
            Get-ScriptPath -Root $Root -Folder $name
        } elseif ($item.Extension -in '.ps1', '.psm1') {
            $name
        }
    }
}
