/** The files of a node that its QEMU opens, made and checked before it starts. */
export const DRIVES = ['hda', 'hdb', 'hdc', 'hdd'] as const;
export type DriveName = (typeof DRIVES)[number];

/** The folder of the state of a TPM, below that of its node. */
export const TPM_FOLDER = 'tpm';

/** The formats that QEMU is told of. It never finds out a format by itself: a guest could write another one. */
export type DiskFormat = 'qcow2' | 'qcow' | 'raw' | 'vdi' | 'vhdx' | 'vmdk' | 'vpc';

export interface PreparedDrive {
  /** The place of its letter: 0 for hda. */
  readonly index: number;
  /** Absolute. */
  readonly path: string;
  /** The image upon which the disk lies; undefined when the disk is the image itself. */
  readonly base: string | undefined;
  readonly format: DiskFormat;
  /** A value of `hda_disk_interface`. */
  readonly interface: string;
}

/** Absolute paths of images that are only read. */
export interface PreparedImages {
  readonly cdrom: string | undefined;
  readonly kernel: string | undefined;
  readonly initrd: string | undefined;
  readonly bios: string | undefined;
}

export interface PreparedDisks {
  /** The real path of the folder of the node. */
  readonly folder: string;
  readonly drives: readonly PreparedDrive[];
  readonly images: PreparedImages;
  /** The firmware and its variables, for a node that boots by UEFI. */
  readonly uefi: { readonly code: string; readonly variables: string } | undefined;
  /** Whether there is a disk of `config.zip`, which `keepConfig` writes back after the run. */
  readonly hasConfigDisk: boolean;
  /** Sentences for the listeners of the project. */
  readonly warnings: readonly string[];
  /** Lets other nodes have the images again. Call it once, when nothing of the run is left. */
  readonly release: () => void;
}
