/** The templates that nodes are made from: the built-in ones, and those that clients made. */
import { randomUUID } from 'node:crypto';
import { refusals } from '../base/errors/errors.js';
import { keepRecords } from '../base/store/kept-records.js';
import type { Store } from '../base/store/store.js';
import { parseOrRefuse } from '../base/errors/validation.js';
import type { Channel } from '../base/streams/channel.js';
import { BUILTIN_TEMPLATES, kindOfType, servedKind } from './kinds/node-kinds.js';
import { nodeOfTemplate } from './kinds/template-node.js';
import type { TemplateRules, TemplateSettings } from './kinds/template.js';
import { Collection } from './projects/collection.js';
import { Lane } from './projects/lane.js';
import type { NewNode } from './topology/nodes.js';
import { templateKey, TEMPLATES } from './projects/records.js';
import { nodeType } from './gns3-file/topology-schema.js';

interface Template extends TemplateSettings {
  readonly template_id: string;
  readonly template_type: string;
  readonly compute_id: string | null;
  readonly builtin: boolean;
}

interface TemplateUsage {
  readonly x: number;
  readonly y: number;
  readonly name?: string | null | undefined;
  readonly compute_id?: string | null | undefined;
}

/** Keys that identify a template. Changes of them are ignored. */
const IDENTITY = ['template_id', 'template_type', 'compute_id', 'builtin'] as const;

export class Templates {
  readonly #store: Store;
  readonly #lane: Lane;
  readonly #templates: Collection<Template>;

  constructor(store: Store, channel: Channel) {
    this.#store = store;
    this.#lane = new Lane(store);
    this.#templates = new Collection('template', templateKey, channel, textOf);
  }

  async start(): Promise<void> {
    for (const template of BUILTIN_TEMPLATES) {
      this.#templates.loadBuiltin(template.template_id, { ...template, builtin: true, compute_id: null });
    }
    this.#templates.publishLoaded();
    await keepRecords(this.#store, this.#templates.keeper(TEMPLATES));
  }

  list(): Uint8Array {
    return this.#templates.publishedList();
  }

  show(id: string): string {
    const text = this.#templates.published(id);
    if (text === undefined) throw refusals.templateUnknown(id);
    return text;
  }

  /** The id of the template with this id or this name. Refuses (404, 409) a name that none or several have. */
  idOf(idOrName: string): string {
    if (this.#templates.get(idOrName) !== undefined) return idOrName;
    const [found, ...others] = [...this.#templates.values()].filter(({ name }) => name === idOrName);
    if (found === undefined) throw refusals.templateNameUnknown(idOrName);
    if (others.length > 0) throw refusals.templateNameShared(idOrName);
    return found.template_id;
  }

  create(wanted: Readonly<Record<string, unknown>>): Promise<string> {
    return this.#lane.change((transaction) => {
      const { template_id, template_type, compute_id, builtin, ...settings } = wanted;
      const type = String(template_type);
      const rules = templateRules(type);
      const id = typeof template_id === 'string' ? template_id : randomUUID();
      if (this.#templates.get(id) !== undefined) throw refusals.templateExists(id);
      const checked = given(parseOrRefuse(rules.settings, settings, `template of type ${type}`));
      const missing = rules.required?.find((key) => checked[key] === undefined);
      if (missing !== undefined) throw settingRefused(type, `${missing} is required`);
      const template = {
        ...rules.defaults,
        ...rules.defaultsFor?.(checked),
        ...checked,
        builtin: false,
        compute_id: typeof compute_id === 'string' ? compute_id : null,
        template_id: id,
        template_type: type,
      } as Template;
      checkTogether(rules, template);
      return this.#templates.put(transaction, id, template, { action: 'created' });
    });
  }

  update(id: string, wanted: Readonly<Record<string, unknown>>): Promise<string> {
    return this.#lane.change((transaction) => {
      const template = this.#find(id);
      const settings = Object.fromEntries(
        Object.entries(wanted).filter(([key]) => !(IDENTITY as readonly string[]).includes(key)),
      );
      const rules = templateRules(template.template_type);
      const checked = parseOrRefuse(rules.settings, settings, `template of type ${template.template_type}`);
      const changed = { ...template, ...given(checked) };
      checkTogether(rules, changed);
      return this.#templates.put(transaction, id, changed, { action: 'updated' });
    });
  }

  delete(id: string): Promise<void> {
    return this.#lane.change((transaction) => {
      const template = this.#find(id);
      if (template.builtin) throw refusals.templateBuiltin(id, 'deleted');
      this.#templates.remove(transaction, id);
    });
  }

  duplicate(id: string): Promise<string> {
    return this.#lane.change((transaction) => {
      const template = this.#find(id);
      if (template.builtin) throw refusals.templateBuiltin(id, 'duplicated');
      const copy = { ...template, template_id: randomUUID() };
      return this.#templates.put(transaction, copy.template_id, copy, { action: 'created' });
    });
  }

  /** The request that makes a node of this template. */
  nodeFrom(id: string, usage: TemplateUsage): NewNode {
    const template = this.#templates.get(id);
    if (template === undefined) throw refusals.templateForNodeUnknown(id);
    const computeId = template.compute_id ?? usage.compute_id;
    if (computeId == null) throw refusals.computeUnknown('None');
    const name = usage.name ?? template.default_name_format.replaceAll('{name}', template.name);
    const kind = servedKind(template.template_type);
    return {
      ...(kind === undefined ? {} : nodeOfTemplate(kind, template)),
      name,
      node_type: nodeType.parse(template.template_type),
      compute_id: computeId,
      template_id: id,
      symbol: template.symbol,
      x: usage.x,
      y: usage.y,
    };
  }

  #find(id: string): Template {
    const template = this.#templates.get(id);
    if (template === undefined) throw refusals.templateUnknown(id);
    return template;
  }
}

function templateRules(type: string): TemplateRules {
  return kindOfType(nodeType.parse(type)).template;
}

function checkTogether(rules: TemplateRules, template: Template): void {
  const fault = rules.faultIn?.(template);
  if (fault !== undefined) throw settingRefused(template.template_type, fault);
}

function settingRefused(type: string, reason: string): Error {
  return refusals.schemaViolated(`in template of type ${type}`, reason);
}

function given(settings: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

function textOf(template: Template): string {
  return JSON.stringify(Object.fromEntries(Object.entries(template).sort(([a], [b]) => (a < b ? -1 : 1))));
}
