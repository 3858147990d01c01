/** The templates of a kind: the settings that a client may send, and their defaults. */
import { z } from 'zod';

/** The settings that every template has beside its ids. */
export interface TemplateSettings {
  readonly name: string;
  readonly category: number | string;
  readonly default_name_format: string;
  readonly symbol: string;
  readonly [special: string]: unknown;
}

export interface TemplateRules {
  /** The schema of the settings that a client may send; everything is optional. */
  readonly settings: z.ZodObject;
  readonly defaults: Omit<TemplateSettings, 'name'>;
}

export interface BuiltinTemplate extends TemplateSettings {
  /** The reference's id: stock clients and saved projects know it. */
  readonly template_id: string;
}

const name = z.string().min(1).max(255).optional();

/** The schema of the settings that all templates have, and of the special ones of a kind. */
export function templateSettings(special: z.ZodRawShape): z.ZodObject {
  return z.strictObject({
    name,
    category: z.union([z.int(), z.enum(['router', 'switch', 'guest', 'firewall'])]).optional(),
    default_name_format: name,
    symbol: name,
    ...special,
  });
}
