/** The requests about images and containers that this server makes of a Docker engine. */
import type { Socket } from 'node:net';
import { z } from 'zod';
import { imageDescription, LABELS, type ImageDescription } from './container-settings.js';
import { DockerError, type DockerClient } from './docker-client.js';

const MISSING = 404;
const CONFLICT = 409;
/** A command in a container that takes longer is left alone. */
const EXEC_MS = 10_000;
/** A name of an image goes into the path of a request. */
const IMAGE_NAME = /^[A-Za-z0-9][A-Za-z0-9._/:@-]*$/;

const images = z.array(z.object({ RepoTags: z.array(z.string()).nullish() }));
const made = z.object({ Id: z.string() });
const listed = z.array(made);
const ended = z.object({ StatusCode: z.number() });
const container = z.object({
  State: z.object({ Running: z.boolean(), Pid: z.number() }),
  Config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }),
});
const progress = z.object({
  error: z.string().optional(),
  id: z.string().optional(),
  status: z.string().optional(),
});

interface ContainerState {
  readonly isRunning: boolean;
  /** On this host; 0 when it does not run. */
  readonly pid: number;
}

/** A connection to a terminal that the engine holds. */
export interface ContainerTerminal {
  readonly socket: Socket;
  /** Gives the terminal a size. */
  readonly fit: (columns: number, rows: number) => Promise<void>;
}

export class DockerEngine {
  readonly #client: DockerClient;

  constructor(client: DockerClient) {
    this.#client = client;
  }

  open(): Promise<void> {
    return this.#client.open();
  }

  /** The names of the images, sorted. */
  async imageNames(): Promise<string[]> {
    const found = images.parse(await this.#client.ask('GET', '/images/json'));
    const names = found.flatMap(({ RepoTags: tags }) => tags ?? []);
    return [...new Set(names)].filter((name) => !name.startsWith('<none>')).sort();
  }

  /** Undefined when the engine does not have the image. */
  async image(name: string): Promise<ImageDescription | undefined> {
    checkImageName(name);
    try {
      return imageDescription.parse(await this.#client.ask('GET', `/images/${name}/json`));
    } catch (error) {
      if (error instanceof DockerError && error.status === MISSING) return undefined;
      throw error;
    }
  }

  /** Gets an image from its registry. Rejects with the engine's reason. */
  async pull(name: string, told: (step: string) => void): Promise<void> {
    checkImageName(name);
    await this.#client.askForLines('/images/create', { fromImage: name }, (line) => {
      const { error, id, status = '' } = progress.parse(line);
      if (error !== undefined) throw new DockerError(0, error);
      told(id === undefined ? status : `${id}: ${status}`);
    });
  }

  /** Makes a container. One of this server that has the name is a leftover, and is removed. */
  async create(name: string, settings: object, mark: string): Promise<string> {
    const make = async (): Promise<string> =>
      made.parse(await this.#client.ask('POST', '/containers/create', { query: { name }, body: settings }))
        .Id;
    try {
      return await make();
    } catch (error) {
      if (!(error instanceof DockerError) || error.status !== CONFLICT) throw error;
      const { Config: config } = await this.#inspect(name);
      if (config.Labels?.[LABELS.server] !== mark) throw error;
      await this.remove(name);
      return make();
    }
  }

  async start(id: string): Promise<void> {
    await this.#client.ask('POST', `/containers/${id}/start`);
  }

  async state(id: string): Promise<ContainerState> {
    const { State: state } = await this.#inspect(id);
    return { isRunning: state.Running, pid: state.Pid };
  }

  /** Resolves with the status of its end. */
  async ended(id: string): Promise<number> {
    const answer = await this.#client.ask('POST', `/containers/${id}/wait`, { silenceMs: 0 });
    return ended.parse(answer).StatusCode;
  }

  /** Asks it to end, and kills it after so many seconds. */
  async stop(id: string, seconds: number): Promise<void> {
    await this.#client.ask('POST', `/containers/${id}/stop`, { query: { t: String(seconds) } });
  }

  async kill(id: string): Promise<void> {
    await this.#client.ask('POST', `/containers/${id}/kill`);
  }

  async pause(id: string): Promise<void> {
    await this.#client.ask('POST', `/containers/${id}/pause`);
  }

  async unpause(id: string): Promise<void> {
    await this.#client.ask('POST', `/containers/${id}/unpause`);
  }

  /** Ends it and removes it, with the volumes that only it has. */
  async remove(id: string): Promise<void> {
    try {
      await this.#client.ask('DELETE', `/containers/${id}`, { query: { force: '1', v: '1' } });
    } catch (error) {
      if (!(error instanceof DockerError) || error.status !== MISSING) throw error;
    }
  }

  /** Removes all containers of a server, whatever they do. */
  async removeAll(mark: string): Promise<void> {
    const filters = JSON.stringify({ label: [`${LABELS.server}=${mark}`] });
    const found = listed.parse(
      await this.#client.ask('GET', '/containers/json', { query: { all: '1', filters } }),
    );
    for (const { Id: id } of found) await this.remove(id);
  }

  /** The terminal of a container. What it prints is not lost from here on. */
  async attach(id: string): Promise<ContainerTerminal> {
    const query = { stream: '1', stdin: '1', stdout: '1', stderr: '1' };
    return {
      socket: await this.#client.connect(`/containers/${id}/attach`, { query }),
      fit: (columns, rows) => this.#fit(`/containers/${id}`, columns, rows),
    };
  }

  /** Runs a command in a container to its end, or for ten seconds. */
  async run(id: string, command: readonly string[]): Promise<void> {
    const { socket: terminal } = await this.execute(id, command);
    await new Promise<void>((resolve) => {
      const patience = setTimeout(() => terminal.destroy(), EXEC_MS);
      terminal.on('error', () => undefined);
      terminal.once('close', () => {
        clearTimeout(patience);
        resolve();
      });
      terminal.resume();
    });
  }

  /** Another command in a container, in a terminal of its own. */
  async execute(id: string, command: readonly string[]): Promise<ContainerTerminal> {
    const how = { AttachStdin: true, AttachStdout: true, AttachStderr: true, Tty: true, Cmd: command };
    const { Id: execution } = made.parse(
      await this.#client.ask('POST', `/containers/${id}/exec`, { body: how }),
    );
    return {
      socket: await this.#client.connect(`/exec/${execution}/start`, { body: { Detach: false, Tty: true } }),
      fit: (columns, rows) => this.#fit(`/exec/${execution}`, columns, rows),
    };
  }

  async #fit(path: string, columns: number, rows: number): Promise<void> {
    const query = { w: String(columns), h: String(rows) };
    await this.#client.ask('POST', `${path}/resize`, { query });
  }

  async #inspect(id: string): Promise<z.infer<typeof container>> {
    return container.parse(await this.#client.ask('GET', `/containers/${id}/json`));
  }
}

function checkImageName(name: string): void {
  if (!IMAGE_NAME.test(name) || name.includes('..'))
    throw new DockerError(0, `'${name}' is no name of an image`);
}
