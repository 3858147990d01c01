/** The settings of a server that the checks look at. They survive a structured clone. */
import type { CertificatePaths } from '../certificate-tasks.js';

/** The clients that consoles of nodes serve, when they reach the address at which these listen. */
export type ConsoleClients = 'everybody' | 'networks' | 'this host';

export interface Patient {
  /** The folders that may lie on disks of their own, by their names. */
  readonly parts: Readonly<Record<'data' | 'projects' | 'images' | 'state' | 'uploads', string>>;
  readonly backups: string;
  readonly udpPorts: readonly [first: number, last: number];
  readonly consolePorts: readonly [first: number, last: number];
  readonly certificate: CertificatePaths | undefined;
  readonly publicUrl: string | undefined;
  readonly hasProxies: boolean;
  readonly dockerSocket: string;
  readonly kvm: 'auto' | 'require' | 'off';
  readonly confinesPrograms: boolean;
  readonly limitsProjects: boolean;
  readonly isForOthers: boolean;
  /** Whether there are users, as far as the settings tell. */
  readonly hasUsers: boolean;
  /** Where consoles of nodes listen. */
  readonly consoleHost: string;
  readonly consoleClients: ConsoleClients;
}
