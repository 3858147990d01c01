/**
 * The settings of the virtual machine in which other servers run nodes on Windows and macOS. This server runs nodes
 * itself: the settings are kept for clients that send them, and the machine cannot be enabled.
 */
import type { Store } from '../base/store/store.js';
import { VIRTUAL_MACHINE } from './projects/records.js';
import { StoredSettings } from './stored-settings.js';

interface MachineSettings {
  readonly allocate_vcpus_ram: boolean;
  readonly enable: false;
  readonly engine: (typeof MACHINE_ENGINES)[number];
  readonly headless: boolean;
  readonly port: number;
  readonly ram: number;
  readonly vcpus: number;
  readonly vmname: string | null;
  readonly when_exit: (typeof WHEN_EXIT)[number];
}

export const MACHINE_ENGINES = ['vmware', 'virtualbox', 'remote'] as const;
export const WHEN_EXIT = ['stop', 'suspend', 'keep'] as const;

export class VirtualMachine extends StoredSettings<MachineSettings> {
  constructor(store: Store) {
    super(store, VIRTUAL_MACHINE, {
      allocate_vcpus_ram: true,
      enable: false,
      engine: 'vmware',
      headless: false,
      port: 80,
      ram: 2048,
      vcpus: 1,
      vmname: null,
      when_exit: 'stop',
    });
  }
}
