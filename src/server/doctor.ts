/** `wirefarm doctor`: examines this host for a server with these settings, which may run or not. */
import { join } from 'node:path';
import { Doctor } from '../operations/doctor/doctor.js';
import { examinationText, exitCodeOf } from '../operations/doctor/diagnosis.js';
import type { Patient } from '../operations/doctor/patient.js';
import type { Config } from './config.js';
import { consoleClientsOf, consoleHostOf } from './console-reach.js';
import { BACKUPS } from './folders.js';

export function patientOf(config: Config): Patient {
  // A server that others can reach has users, or is open.
  const hasUsers = config.credentials !== undefined || (config.isForOthers && !config.isOpen);
  const { data, projects, images, state, uploads, udpPorts, consolePorts, certificate } = config;
  const { dockerSocket, kvm, confinesPrograms, projectLimits, isForOthers } = config;
  return {
    parts: { data, projects, images, state, uploads },
    backups: join(data, BACKUPS),
    ...{ udpPorts, consolePorts, certificate, dockerSocket, kvm, confinesPrograms, isForOthers },
    ...{ hasUsers, consoleHost: consoleHostOf(config, hasUsers) },
    consoleClients: consoleClientsOf(config, hasUsers),
    publicUrl: config.publicUrl?.href,
    hasProxies: config.trustedProxies.rules.length > 0,
    limitsProjects: projectLimits.memoryBytes > 0 || projectLimits.cpuPercent > 0,
  };
}

/** Returns the exit code. */
export async function examineHost(config: Config, isJson: boolean): Promise<number> {
  const examination = await new Doctor(patientOf(config)).examine();
  process.stdout.write(isJson ? `${JSON.stringify(examination, null, 2)}\n` : examinationText(examination));
  return exitCodeOf(examination);
}
