// VitePress' own theme with the system's fonts, and tables that fit.
import theme from "vitepress/theme-without-fonts";
import "./tables.css";

export default theme;
