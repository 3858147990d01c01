/** The checks of a host as tasks of a thread that lives as long as an examination. */
import type { TaskTable } from '../../base/threads/task.js';
import { packBundle, type BundleOrder } from './bundle.js';
import type { Diagnosis } from './diagnosis.js';
import { checkFolders } from './folder-checks.js';
import { checkKernel } from './kernel-checks.js';
import { checkNetwork } from './network-checks.js';
import type { Patient } from './patient.js';
import { checkPrograms } from './program-checks.js';

export interface DoctorTasks extends TaskTable {
  readonly checkFolders: (patient: Patient) => Diagnosis[];
  readonly checkKernel: (patient: Patient) => Promise<Diagnosis[]>;
  readonly checkNetwork: (patient: Patient) => Promise<Diagnosis[]>;
  readonly checkPrograms: (patient: Patient) => Promise<Diagnosis[]>;
  readonly packBundle: (order: BundleOrder) => string[];
}

export const doctorTasks: DoctorTasks = {
  checkFolders,
  checkKernel,
  checkNetwork,
  checkPrograms,
  packBundle,
};
